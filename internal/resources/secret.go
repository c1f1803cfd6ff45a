package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/redis-operator/internal/state"
)

const (
	// SecretKeyUsers is the key of the ACL file in the Secret.
	SecretKeyUsers = "users.acl"
	// SecretKeySeed is the key of the seed in the same Secret. The operator creates it once and never applies it; pods do
	// not mount it.
	SecretKeySeed = "seed"
)

// secret holds the ACL file. Its other key, the seed, is not here, so that no apply can ever change or remove it.
func secret(want *state.Want) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: objectMeta(want, SecretName(want.Key.Name)),
		Data:       map[string][]byte{SecretKeyUsers: []byte(AccessRules(want.Access))},
	}
}
