package expectations

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/plan"
)

// Applied remembers which intent was applied to which object, and the version that resulted. As long as the object has that
// version and the intent is the same, there is nothing to apply.
type Applied struct {
	mu     sync.Mutex
	intent map[types.UID]appliedIntent
}

type appliedIntent struct{ hash, version string }

// NewApplied makes an empty memory.
func NewApplied() *Applied { return &Applied{intent: map[types.UID]appliedIntent{}} }

// Record remembers that an intent was applied, with the object that resulted.
func (a *Applied) Record(result plan.Object, intentHash string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.intent[result.GetUID()] = appliedIntent{hash: intentHash, version: Version(result)}
}

// Hash is the hash of the intent that made the object what it is now; empty if someone changed it since, or it is not known.
func (a *Applied) Hash(current plan.Object) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.intent[current.GetUID()]; ok && known.version == Version(current) {
		return known.hash
	}
	return ""
}

// Forget drops what is remembered of an object that is gone.
func (a *Applied) Forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.intent, uid)
}

// revisionAnnotation is written by Kubernetes' Deployment controller at every rollout; it is as good as status.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// Version changes whenever the object does, except with its status: where Kubernetes counts generations of the spec that
// number, with a hash of the metadata that people and operators write, else the resource version.
func Version(o plan.Object) string {
	if o.GetGeneration() == 0 {
		return o.GetResourceVersion()
	}
	annotations := maps.Clone(o.GetAnnotations())
	delete(annotations, revisionAnnotation)
	metadata, err := json.Marshal([]any{o.GetLabels(), annotations, o.GetOwnerReferences()})
	if err != nil {
		return o.GetResourceVersion() // cannot happen with maps of strings; then every change counts
	}
	sum := sha256.Sum256(metadata)
	return fmt.Sprintf("%d-%s", o.GetGeneration(), hex.EncodeToString(sum[:8]))
}
