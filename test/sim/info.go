package sim

import (
	"strconv"
	"strings"
	"time"
)

// infoText gathers lines of INFO.
type infoText struct{ text []byte }

func (t *infoText) line(key, value string) {
	t.text = append(append(append(append(t.text, key...), ':'), value...), '\r', '\n')
}

func (t *infoText) number(key string, value int64) {
	t.text = append(append(t.text, key...), ':')
	t.text = append(strconv.AppendInt(t.text, value, 10), '\r', '\n')
}

// info is the command INFO of the sections that the operator asks for: genRedisInfoString.
func (p *process) info() string {
	t := &infoText{text: make([]byte, 0, 800)}
	t.line("redis_version", "7.0.15")
	t.line("run_id", p.runID)
	t.number("uptime_in_seconds", int64(time.Since(p.started).Seconds()))
	t.number("loading", int64(number(p.loading)))
	t.number("async_loading", 0)
	if p.primary {
		t.line("role", "master")
	} else {
		t.line("role", "slave")
		p.upstreamInfo(t)
	}
	t.number("connected_slaves", int64(len(p.fed)))
	if p.minReplicas > 0 && p.maxLag > 0 {
		t.number("min_slaves_good_slaves", int64(p.good))
	}
	for i, s := range p.fed {
		state := "online"
		if !s.online {
			state = "send_bulk"
		}
		t.line("slave"+strconv.Itoa(i), "ip="+s.to.pod.ip+",port="+strconv.Itoa(port)+",state="+state+
			",offset="+strconv.FormatInt(s.acked, 10)+",lag="+strconv.FormatInt(s.lag(), 10))
	}
	t.line("master_replid", p.replid)
	if p.replid2 == "" {
		t.line("master_replid2", strings.Repeat("0", 40))
	} else {
		t.line("master_replid2", p.replid2)
	}
	t.number("master_repl_offset", p.offset)
	t.number("second_repl_offset", p.second)
	if len(p.data) > 0 {
		t.line("db0", "keys="+strconv.Itoa(len(p.data))+",expires=0,avg_ttl=0")
	}
	return string(t.text)
}

// upstreamInfo is what a replica says of its primary.
func (p *process) upstreamInfo(t *infoText) {
	t.line("master_host", p.host)
	t.number("master_port", int64(p.port))
	status, lastIO := "down", int64(-1)
	if p.state == linkUp {
		status, lastIO = "up", time.Now().Unix()-p.heard.Unix()
	}
	t.line("master_link_status", status)
	t.number("master_last_io_seconds_ago", lastIO)
	t.number("master_sync_in_progress", int64(number(p.state == linkTransfer)))
	offset := p.offset
	if p.state != linkUp && !p.cached {
		offset = 1 // neither a primary nor a cached one
	}
	t.number("slave_repl_offset", offset)
	if p.state != linkUp {
		t.number("master_link_down_since_seconds", time.Now().Unix()-p.downTime.Unix())
	}
}
