package sim

import "time"

// protocol is the one switch for docs/design/failover.md: true where the product keeps a quorum, moves its primary in planned
// steps and hands a password to a new leader. With it come the faults that a product without cannot bear (faultsOfTheProtocol),
// and the invariants that only hold with it.
const protocol = true

// failoverTimeout is spec.failover.timeoutSeconds of the resource, and repl-timeout in redis.conf.
const failoverTimeout = 5 * time.Second
