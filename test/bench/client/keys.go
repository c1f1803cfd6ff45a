package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"example.com/redis-operator/test/bench/measure"
)

// batch is how many keys are looked up at once.
const batch = 500

// keys are those on a primary.
type keys struct{ *connection }

func openKeys(primary string) (keys, error) {
	conn, err := dial(primary)
	if err != nil {
		return keys{}, fmt.Errorf("the primary %s: %w", primary, err)
	}
	k := keys{conn}
	role, err := k.do("ROLE")
	if err != nil {
		return keys{}, errors.Join(err, conn.Close())
	}
	if parts, isList := role.([]any); !isList || len(parts) == 0 || parts[0] != "master" {
		return keys{}, errors.Join(fmt.Errorf("%s is no primary: %v", primary, role), conn.Close())
	}
	return k, nil
}

// of looks up which of a client's keys are there with their own numbers, and then removes them all.
func (k keys) of(client measure.Client) (map[int]bool, error) {
	there := map[int]bool{}
	for writes := range slices.Chunk(client.Writes, batch) {
		names := make([]string, len(writes))
		for i, write := range writes {
			names[i] = keyOf(client.Name, write.Number)
		}
		values, err := k.do(append([]string{"MGET"}, names...)...)
		if err != nil {
			return nil, err
		}
		list, isList := values.([]any)
		if !isList || len(list) != len(writes) {
			return nil, fmt.Errorf("%d keys asked for, answered %v", len(writes), values)
		}
		for i, write := range writes {
			there[write.Number] = list[i] == strconv.Itoa(write.Number)
		}
		if _, err := k.do(append([]string{"UNLINK"}, names...)...); err != nil {
			return nil, err
		}
	}
	return there, nil
}
