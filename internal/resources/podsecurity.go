package resources

import corev1 "k8s.io/api/core/v1"

// redisUser is the user and group of the official images.
const redisUser = 999

// podSecurity and containerSecurity together satisfy the Pod Security level "restricted".
func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		RunAsUser:      new(int64(redisUser)),
		RunAsGroup:     new(int64(redisUser)),
		FSGroup:        new(int64(redisUser)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// containerSecurity leaves the server nothing to write to but its data directory.
func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
