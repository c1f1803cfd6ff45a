package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// access fills in who may log in, as hashes. A Secret's content is read only when its version is new: the informer holds the
// metadata of Secrets, never what is in them.
func (o *Observer) access(ctx context.Context, s *state.Snapshot, m *memory) error {
	key := types.NamespacedName{Namespace: s.Want.Key.Namespace, Name: resources.SecretName(s.Want.Key.Name)}
	if own, exists := s.Objects.Existing[state.ObjectKey{Kind: "Secret", Name: key.Name}]; exists && (own.Controller == s.Want.UID || own.Controller == "") {
		if err := o.seed(ctx, s, key); err != nil {
			return err
		}
	}
	if reference := s.Want.Spec.PasswordSecret; reference != nil {
		return o.passwordSecret(ctx, s, types.NamespacedName{Namespace: key.Namespace, Name: reference.Name}, reference.Key, m)
	}
	if s.Want.Spec.Password != "" {
		s.Want.Access.DefaultHash = resources.PasswordHash(s.Want.Spec.Password)
	}
	return nil
}

// seed makes sure that the resource's seed is in memory, if its Secret has one.
func (o *Observer) seed(ctx context.Context, s *state.Snapshot, key types.NamespacedName) error {
	if !o.Credentials.Known(s.Want.UID) {
		var secret corev1.Secret
		if err := o.Live.Get(ctx, key, &secret); err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("reading Secret %s: %w", key, err)
		}
		seed := secret.Data[plan.SeedKey]
		if len(seed) == 0 {
			return nil
		}
		o.Credentials.Remember(s.Want.UID, seed)
	}
	s.Want.Access.SeedKnown = true
	s.Want.Access.OperatorHash = resources.PasswordHash(o.Credentials.OperatorPassword(s.Want.UID, 0))
	return nil
}

// passwordSecret reads the password that a Secret of the user's holds, if it has a new version, and keeps only its hash.
func (o *Observer) passwordSecret(ctx context.Context, s *state.Snapshot, key types.NamespacedName, field string, m *memory) error {
	var metadata metav1.PartialObjectMetadata
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := o.Cache.Get(ctx, key, &metadata); err != nil {
		if apierrors.IsNotFound(err) {
			s.Want.Access.Missing = fmt.Sprintf("Secret %s, named in spec.passwordSecret, does not exist; create it with the key %s", key.Name, field)
			return nil
		}
		return fmt.Errorf("reading Secret %s: %w", key, err)
	}
	version := fmt.Sprint(metadata.UID, "/", metadata.ResourceVersion, "/", field)
	if m.passwordVersion != version {
		var secret corev1.Secret
		if err := o.Live.Get(ctx, key, &secret); err != nil {
			return fmt.Errorf("reading Secret %s: %w", key, err)
		}
		m.passwordVersion, m.passwordHash = fmt.Sprint(secret.UID, "/", secret.ResourceVersion, "/", field), ""
		if password := secret.Data[field]; len(password) > 0 {
			m.passwordHash = resources.PasswordHash(string(password))
		}
	}
	s.Want.Access.DefaultHash = m.passwordHash
	if m.passwordHash == "" {
		s.Want.Access.Missing = fmt.Sprintf("Secret %s has nothing under the key %s, named in spec.passwordSecret; put the password there", key.Name, field)
	}
	return nil
}
