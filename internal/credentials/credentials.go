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

	// operatorGeneration is the generation of the operator's password; it grows when passwords are rotated.
	operatorGeneration = 1
	seedBytes          = 32
)

// Store holds the seeds by the UID of the resource.
type Store struct {
	mu    sync.Mutex
	seeds map[types.UID][]byte
}

// NewStore makes an empty store.
func NewStore() *Store { return &Store{seeds: map[types.UID][]byte{}} }

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
}

// OperatorPassword is the password of the operator's own user.
func (s *Store) OperatorPassword(resource types.UID) string {
	return s.derive(resource, OperatorUser, operatorGeneration)
}

// ReplicationPassword is the password by which replicas log in during an epoch.
func (s *Store) ReplicationPassword(resource types.UID, epoch int64) string {
	return s.derive(resource, ReplicationUser, epoch)
}

func (s *Store) derive(resource types.UID, user string, generation int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return resources.Derive(s.seeds[resource], user, generation)
}
