package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apiClient is an operator's way to the API server. Calls take their time; some are lost on the way there or back.
type apiClient struct {
	client.Client // what the operator does not use

	operator *operator
	rand     *rand.Rand
}

var errLost = errors.New("sim: no answer from the API server")

// call runs one request at the API server. The world is locked while do runs.
func (c *apiClient) call(ctx context.Context, write bool, do func(s *store) error) error {
	w := c.operator.world
	c.wait(ctx, between(c.rand, time.Millisecond, 6*time.Millisecond))
	w.Lock()
	cutThere, cutBack := !w.network.open(c.operator.name, api), !w.network.open(api, c.operator.name)
	lostThere := cutThere || c.operator.apiTrouble && c.rand.IntN(4) == 0
	lostBack := cutBack || c.operator.apiTrouble && c.rand.IntN(4) == 0
	late := !cutThere && c.operator.apiTrouble && c.rand.IntN(3) == 0
	w.Unlock()
	if lostThere {
		if late && write { // it arrives after all, once the caller has given up
			time.AfterFunc(between(c.rand, time.Millisecond, 2*time.Second), func() { _ = c.carryOut(write, do) })
		}
		c.wait(ctx, between(c.rand, 5*time.Millisecond, time.Second))
		return errLost
	}
	err := c.carryOut(write, do)
	c.wait(ctx, between(c.rand, 100*time.Microsecond, 2*time.Millisecond))
	if lostBack {
		return errLost
	}
	return err
}

func (c *apiClient) carryOut(write bool, do func(s *store) error) error {
	w := c.operator.world
	w.Lock()
	defer w.Unlock()
	if w.over {
		return errLost
	}
	if !write {
		return do(w.store)
	}
	w.store.writes++
	before := w.store.version
	err := do(w.store)
	w.store.lastWrite = fmt.Sprintf("%s, version %d to %d", w.store.lastPut, before, w.store.version)
	return err
}

// wait lets time pass. An operator that died meanwhile goes no further.
func (c *apiClient) wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	if c.operator.dead() {
		runtime.Goexit()
	}
}

// Get implements client.Client: it asks the API server itself.
func (c *apiClient) Get(ctx context.Context, k client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return c.call(ctx, false, func(s *store) error {
		found := s.get(objectKey{kindOf(into), k.Name})
		if found == nil {
			return notFound(kindOf(into), k.Name)
		}
		return fill(into, found)
	})
}

// Create implements client.Client.
func (c *apiClient) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.call(ctx, true, func(s *store) error {
		if s.get(keyOf(o)) != nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: kindOf(o)}, o.GetName())
		}
		return fill(o, s.put(copyOf(o)))
	})
}

// Delete implements client.Client.
func (c *apiClient) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	var with client.DeleteOptions
	with.ApplyOptions(options)
	return c.call(ctx, true, func(s *store) error {
		found := s.get(keyOf(o))
		switch {
		case found == nil:
			return notFound(kindOf(o), o.GetName())
		case with.Preconditions != nil && with.Preconditions.UID != nil && *with.Preconditions.UID != found.GetUID():
			return conflict(kindOf(o), o.GetName(), "another uid")
		}
		s.remove(found)
		return nil
	})
}

// Apply implements client.Client. There is one field manager, and it never takes a field back; so to apply is to merge.
func (c *apiClient) Apply(ctx context.Context, intent apiruntime.ApplyConfiguration, _ ...client.ApplyOption) error {
	content, is := intent.(apiruntime.Unstructured)
	if !is {
		return fmt.Errorf("sim: cannot apply a %T", intent)
	}
	return c.call(ctx, true, func(s *store) error { return s.apply(content.UnstructuredContent(), content.SetUnstructuredContent) })
}

// Patch implements client.Client.
func (c *apiClient) Patch(ctx context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch(ctx, o, patch, false)
}

// Status implements client.Client.
func (c *apiClient) Status() client.SubResourceWriter { return statusClient{client: c} }

type statusClient struct {
	client.SubResourceWriter

	client *apiClient
}

// Patch implements client.SubResourceWriter.
func (c statusClient) Patch(ctx context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return c.client.patch(ctx, o, patch, true)
}

func (c *apiClient) patch(ctx context.Context, o client.Object, patch client.Patch, status bool) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return err
	}
	return c.call(ctx, true, func(s *store) error { return s.patch(o, content, status) })
}

// fill copies an object that was found into the caller's.
func fill(into, found client.Object) error {
	if partial, is := into.(*metav1.PartialObjectMetadata); is {
		partial.ObjectMeta = metav1.ObjectMeta{
			Name: found.GetName(), Namespace: found.GetNamespace(), UID: found.GetUID(), ResourceVersion: found.GetResourceVersion(),
			Labels: found.GetLabels(), OwnerReferences: found.GetOwnerReferences(), CreationTimestamp: found.GetCreationTimestamp(),
		}
		return nil
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(copyOf(found)).Elem())
	return nil
}

func copyOf(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }

// mergeConditions is a strategic merge of a pod's conditions: by type.
func mergeConditions(old, changed []corev1.PodCondition) []corev1.PodCondition {
	merged := append([]corev1.PodCondition{}, old...)
next:
	for _, c := range changed {
		for i := range merged {
			if merged[i].Type == c.Type {
				merged[i] = c
				continue next
			}
		}
		merged = append(merged, c)
	}
	return merged
}
