// Package credentials holds, in memory only, the seeds from which the passwords of the operator's own users are derived.
//
// The seed of a resource lives in a Secret that the resource owns. Nothing here is ever logged, put into a snapshot or a plan:
// those carry hashes.
package credentials

import (
	"crypto/rand"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/resources"
)

const (
	// OperatorUser is the ACL user by which the operator manages a node.
	OperatorUser = "redis-operator"
	// ReplicationUser is the ACL user by which replicas log in to their primary.
	ReplicationUser = "replication"

	seedBytes = 32
)

// Store holds the seeds by the UID of the resource.
type Store struct {
	mu    sync.Mutex
	seeds map[types.UID][]byte
	// taken has the generation of the operator's password by which this operator took a resource over.
	taken map[types.UID]int64
}

// NewStore makes an empty store.
func NewStore() *Store { return &Store{seeds: map[types.UID][]byte{}, taken: map[types.UID]int64{}} }

// Remember keeps the seed of a resource.
func (s *Store) Remember(resource types.UID, seed []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds[resource] = seed
}

// Known tells whether the seed of a resource is in memory.
func (s *Store) Known(resource types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seeds[resource]) > 0
}

// SeedOrNew is the seed of a resource, or a new random one that is not yet remembered. A seed that is in memory is used again:
// if its Secret was deleted, the running nodes still know the passwords derived from it.
func (s *Store) SeedOrNew(resource types.UID) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seed := s.seeds[resource]; len(seed) > 0 {
		return seed
	}
	seed := make([]byte, seedBytes)
	_, _ = rand.Read(seed) // never fails: crypto/rand ends the program rather than give weak randomness
	return seed
}

// Forget drops the seed of a resource that is gone.
func (s *Store) Forget(resource types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seeds, resource)
	delete(s.taken, resource)
}

// TookOver remembers that this operator recorded that generation of its password.
func (s *Store) TookOver(resource types.UID, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[resource] = generation
}

// WasOvertaken tells whether this operator took a resource over, and another one did after it.
func (s *Store) WasOvertaken(resource types.UID, generation int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, has := s.taken[resource]
	return has && taken < generation
}

// HasTakenOver tells whether it was this operator that recorded that generation.
func (s *Store) HasTakenOver(resource types.UID, generation int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, has := s.taken[resource]
	return has && taken == generation
}

// OperatorPassword is the password of the operator's own user in a generation; nodes boot with that of generation 0.
func (s *Store) OperatorPassword(resource types.UID, generation int64) string {
	return s.derive(resource, OperatorUser, generation+1)
}

// ReplicationPassword is the password by which replicas log in during a generation.
func (s *Store) ReplicationPassword(resource types.UID, generation int64) string {
	return s.derive(resource, ReplicationUser, generation)
}

func (s *Store) derive(resource types.UID, user string, generation int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return resources.Derive(s.seeds[resource], user, generation)
}
