package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/redis-operator/internal/state"
)

// configKey is the key of redis.conf in the ConfigMap, and the file's name in the pod.
const configKey = "redis.conf"

// configMap holds redis.conf; there is no secret in it.
func configMap(want *state.Want) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: objectMeta(want, ConfigMapName(want.Key.Name)),
		Data:       map[string]string{configKey: redisConf(&want.Spec)},
	}
}
