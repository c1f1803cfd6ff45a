package sim

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
)

// settled tells what is still missing to a world as it should be; empty for nothing.
func (w *world) settled() string {
	r := w.store.resource()
	c := r.Status.Claim
	if c == nil {
		return "there is no claim"
	}
	if r.Status.ObservedGeneration != r.Generation {
		return "what is asked for is not taken up yet"
	}
	if r.Annotations[cachev1.AnnotationSwitchover] != "" {
		return "a person's wish is not fulfilled yet"
	}
	primary := w.processAt(w.store.primaryAddress())
	if primary == nil || !primary.primary || primary.runID != c.RunID {
		return "the Service does not lead to the claimed primary"
	}
	if c.ReplicationID != primary.replid {
		return "the primary's history is not on record"
	}
	running, revision := 0, w.revision()
	for _, p := range w.pods {
		object := w.object(p)
		if object == nil {
			continue
		}
		if p.terminating || p.process == nil || !condition(object, "Ready") {
			return p.short + " is not ready"
		}
		if object.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != revision {
			return p.short + " is to be replaced"
		}
		running++
		if (object.Labels[cachev1.LabelRole] == cachev1.RolePrimary) != (p.process == primary) {
			return p.short + " bears the wrong role"
		}
		if alone := r.Spec.Size == 1; (object.Annotations[cachev1.AnnotationBootRole] != "") != alone {
			return p.short + " has the wrong role to boot with"
		}
		if p.process != primary && (p.process.state != linkUp || p.process.upstream.from != primary) {
			return p.short + " does not follow the primary"
		}
	}
	if running != int(r.Spec.Size) {
		return fmt.Sprintf("%d pods run, and %d are wanted", running, r.Spec.Size)
	}
	if protocol {
		return w.settledRecord(c, int(r.Spec.Size))
	}
	return ""
}

// revision is the one that all pods are to have.
func (w *world) revision() string {
	d, _ := w.store.get(objectKey{"Deployment", resources.WorkloadName(key.Name)}).(*appsv1.Deployment)
	if d == nil {
		return ""
	}
	return revisionOf(d)
}

// settledRecord tells what is still missing to the record, and whom the Service does not serve.
func (w *world) settledRecord(c *cachev1.Claim, size int) string {
	if int(c.Quorum) != size/2 || len(c.Attached) != size-1 {
		return fmt.Sprintf("quorum %d and %d attached are on record", c.Quorum, len(c.Attached))
	}
	for _, c := range w.clients {
		if time.Since(c.served) > 5*time.Second {
			return c.name + " has not been served for 5 s"
		}
	}
	return ""
}
