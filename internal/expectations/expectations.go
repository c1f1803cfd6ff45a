// Package expectations remembers the operator's own writes that the informer cache does not show yet.
//
// What goes wrong without it: a reconcile that follows close on a write reads the object as it was before, and decides again
// what was just done. Optimistic locking makes that harmless for the claim, but every such round costs API calls and time in
// the middle of a failover.
//
// How: the object that a write returned is kept until the cache shows that version or a newer one. It is enough to compare
// resource versions, which Kubernetes promises to be comparable within one resource. Nobody waits for the cache:
// controller-runtime's own read-your-writes client does, for all objects of the kind, and a failover has no time for it.
//
// After a restart of the operator the memory is empty, and so is the need: a new cache begins with what the API server has now.
package expectations

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"example.com/redis-operator/internal/plan"
)

// unseenFor is how long an object that was written may stay out of the cache before it is taken to be gone again.
const unseenFor = 10 * time.Second

// Store holds the results of own writes, by UID.
type Store struct {
	mu      sync.Mutex
	now     func() time.Time
	written map[types.UID]entry
}

type entry struct {
	kind   string
	object plan.Object
	at     time.Time
}

// NewStore makes an empty store.
func NewStore(now func() time.Time) *Store {
	return &Store{now: now, written: map[types.UID]entry{}}
}

// Wrote remembers what a write returned. The object must not be changed afterwards.
func (s *Store) Wrote(kind string, o plan.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.written[o.GetUID()]; !ok || newer(o, before.object) {
		s.written[o.GetUID()] = entry{kind: kind, object: o, at: s.now()}
	}
}

// Newest is the newer of what the cache shows and what was written; what the cache has caught up with is forgotten.
func Newest[T plan.Object](s *Store, cached T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, ok := s.written[cached.GetUID()]
	if !ok {
		return cached
	}
	if own, sameType := written.object.(T); sameType && newer(own, cached) {
		return own
	}
	delete(s.written, cached.GetUID())
	return cached
}

// Unseen are the objects of a kind, in a namespace and with a value of a label, that were written and that may not be in the
// cache yet. An object that was written and is in the cache in an older version is among them too.
func (s *Store) Unseen(kind, namespace, label, value string) []plan.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var unseen []plan.Object
	for uid, written := range s.written {
		switch {
		case s.now().Sub(written.at) > unseenFor:
			delete(s.written, uid)
		case written.kind == kind && written.object.GetNamespace() == namespace && written.object.GetLabels()[label] == value:
			unseen = append(unseen, written.object)
		}
	}
	return unseen
}

// Forget drops what is remembered of an object that is gone.
func (s *Store) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, uid)
}

// newer tells whether a is a later version than b. Versions that do not compare are not trusted to be newer.
func newer(a, b plan.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}
