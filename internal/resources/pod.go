package resources

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

const (
	// ContainerName names the Redis container in the pods.
	ContainerName = "redis"

	// shutdownTimeoutSeconds is how long a server that is told to end waits for its replicas to have everything.
	shutdownTimeoutSeconds = 10
	// PreStopSeconds is how long a primary whose pod is deleted goes on serving until another has taken over.
	PreStopSeconds = 10
	// terminationGraceSeconds covers both, and the save of a user who asked for one.
	terminationGraceSeconds = 30

	volumeConfig = "config"
	volumeData   = "data"
)

// podTemplate is the pod as rendered by this release. The hash in its annotations makes a change of redis.conf, which is not
// part of the template, a change of the template.
func podTemplate(want *state.Want, hash string) corev1.PodTemplateSpec {
	user := want.Spec.PodTemplate.DeepCopy()
	name := want.Key.Name
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      merged(user.Labels, Labels(name)),
			Annotations: merged(user.Annotations, map[string]string{AnnotationUserHash: hash}),
		},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{container(want)},
			Volumes:                       volumes(name),
			ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: cachev1.GateInSync}},
			SecurityContext:               podSecurity(),
			TerminationGracePeriodSeconds: new(int64(terminationGraceSeconds)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			NodeSelector:                  user.NodeSelector,
			Affinity:                      affinity(name, user),
			Tolerations:                   user.Tolerations,
			TopologySpreadConstraints:     topologySpread(name, user),
			PriorityClassName:             user.PriorityClassName,
			ImagePullSecrets:              user.ImagePullSecrets,
			ServiceAccountName:            user.ServiceAccountName,
		},
	}
}

// container hands the configuration file to the image's own entrypoint, which is the contract of the official images.
// There is no liveness probe: it would kill a primary that is busy for a while, and all of its data with it.
func container(want *state.Want) corev1.Container {
	return corev1.Container{
		Name:            ContainerName,
		Image:           want.Spec.Image,
		Args:            []string{configFile},
		Ports:           []corev1.ContainerPort{{Name: portName, ContainerPort: want.Spec.Port, Protocol: corev1.ProtocolTCP}},
		Resources:       *want.Spec.Resources.DeepCopy(),
		ReadinessProbe:  readinessProbe(want.Spec.Port),
		Lifecycle:       &corev1.Lifecycle{PreStop: preStop(want.Spec.Port)},
		SecurityContext: containerSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeConfig, MountPath: configDir, ReadOnly: true},
			{Name: volumeData, MountPath: dataDir},
		},
	}
}

// readinessProbe asks whether this very process serves its role: the readiness gate outlives a restart of the container, so
// by itself it would keep an empty, fenced node Ready.
//
// A fenced node, or a replica whose link is down, answers PING with MASTERDOWN; -e makes redis-cli fail on an error reply.
// The user probe may do nothing but PING and ROLE and takes any password. One must be given: with --user alone redis-cli does
// not log in at all, and asks as the default user, who may need a password (measured, Redis 7.0).
func readinessProbe(port int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{
			"redis-cli", "-e", "-h", "127.0.0.1", "-p", strconv.Itoa(int(port)),
			"--user", UserProbe, "--pass", "any", "--no-auth-warning", "ping",
		}}},
		TimeoutSeconds:   5,
		PeriodSeconds:    10,
		FailureThreshold: 3,
	}
}

// preStop keeps a primary serving while its pod is being deleted, until it is the primary no more: the operator moves the role
// to another node meanwhile. A fixed sleep would be longer than that takes, and a second delete with a shorter grace period
// does not cut it short (measured).
func preStop(port int32) *corev1.LifecycleHandler {
	role := "timeout 2 redis-cli -h 127.0.0.1 -p " + strconv.Itoa(int(port)) + " --user " + UserProbe + " --pass any --no-auth-warning role"
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do case "$(%s)" in master*) sleep 0.1;; *) exit 0;; esac; i=$((i+1)); done`, PreStopSeconds*10, role)
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", script}}}
}

// volumes are the files that redis.conf names, and a place for temporary data. The seed in the same Secret is not mounted.
func volumes(name string) []corev1.Volume {
	return []corev1.Volume{
		{Name: volumeConfig, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: ConfigMapName(name)},
					Items:                []corev1.KeyToPath{{Key: configKey, Path: configKey}},
				}},
				{Secret: &corev1.SecretProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: SecretName(name)},
					Items:                []corev1.KeyToPath{{Key: SecretKeyUsers, Path: SecretKeyUsers}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path:     bootRoleKey,
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + cachev1.AnnotationBootRole + "']"},
				}}}},
			},
		}}},
		{Name: volumeData, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
}
