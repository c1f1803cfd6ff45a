package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RedisCluster is a Redis that the operator creates and keeps: one primary, its replicas, and Services that lead to them.
//
// The name is part of the names of all objects made for it, hence its limits.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=rc;rdc,categories=all
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 45",message="metadata.name: at most 45 characters, so that the names of the objects made from it fit; choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name: must start with a letter and hold only lower case letters, digits and '-' (it names Services too), for example my-redis"
type RedisCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec RedisClusterSpec `json:"spec"`

	// status is what the operator last saw.
	// +optional
	Status RedisClusterStatus `json:"status,omitempty"`
}

// RedisClusterList is a list of RedisCluster.
//
// +kubebuilder:object:root=true
type RedisClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RedisCluster `json:"items"`
}

// RedisClusterSpec is what the user wants. Only image is required.
//
// +kubebuilder:validation:XValidation:rule="has(self.image)",message="image: write an image of Redis or Valkey, for example redis:7.0",reason=FieldValueRequired,fieldPath=".image"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordSecret))",message="password and passwordSecret exclude each other; remove one (passwordSecret is the safe one)"
type RedisClusterSpec struct {
	// size is the number of Redis pods, 1 to 10: one primary, the rest are replicas that copy it. Default 1.
	// Changing it adds or removes replicas; the primary is the last to go.
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 10",message="size: write a number from 1 to 10 (to run no Redis at all, delete the resource)"
	// +optional
	Size int32 `json:"size,omitempty"`

	// The rule of RedisClusterSpec requires the next one: Kubernetes' own words for a missing field have no example.

	// image is the container image, of Redis 7.0 or newer or Valkey, for example "redis:7.0" or "valkey/valkey:9.1". Required.
	// It must keep the contract of the official images: the entrypoint takes the path of a configuration file.
	// Changing it replaces the pods one by one.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\t\\r\\n]+$')",message="image: write an image reference without spaces, for example redis:7.0"
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Image string `json:"image"`

	// port is the TCP port that redis-server listens on and that the Services offer, 1 to 65535. Default 6379.
	// Changing it replaces the pods one by one.
	// +kubebuilder:default=6379
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",message="port: write a TCP port from 1 to 65535; Redis' own is 6379"
	// +optional
	Port int32 `json:"port,omitempty"`

	// password is the password of Redis' default user, in plain text: for demonstrations, since everyone who may read
	// this resource reads it too. Prefer passwordSecret. With neither, Redis asks for no password. Changes apply live.
	// +kubebuilder:validation:XValidation:rule="size(self) >= 1",message="password: may not be empty; remove the field to run without a password"
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Password string `json:"password,omitempty"`

	// passwordSecret names the Secret, in the same namespace, that holds the password of Redis' default user. Changes apply live.
	// +optional
	PasswordSecret *SecretKeyReference `json:"passwordSecret,omitempty"`

	// resources are the CPU and memory of each Redis container.
	// Default where resources is absent: requests 100m and 128Mi, limits 500m and 256Mi. What is given replaces that whole:
	// {limits: {memory: 1Gi}} leaves the CPU without a limit. Changing them replaces the pods one by one.
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || ['cpu', 'memory'].all(k, !(k in self.requests) || !(k in self.limits) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="resources: requests may not be above limits; lower the request or raise the limit"
	// +kubebuilder:default={requests: {cpu: "100m", memory: "128Mi"}, limits: {cpu: "500m", memory: "256Mi"}}
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// The rules of the next one name the settings that they refuse, where that is a list: then a message is made of constants. What a
	// pattern refuses is told as a whole, since CEL takes a map's keys for boundless and so too costly for a message.

	// config holds settings of redis.conf, for example {"maxmemory-policy": "allkeys-lru"}. At most 64.
	// Settings that the operator owns (addresses, replication, access control, files) are refused.
	// Changing them replaces the pods one by one.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 64 && k.matches('^[a-z0-9-]+$'))",message="config: names of settings hold only lower case letters, digits and '-', at most 64 characters, for example maxmemory-policy"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['port', 'bind', 'protected-mode', 'unixsocket', 'unixsocketperm', 'daemonize', 'supervised', 'pidfile', 'logfile', 'dir', 'dbfilename', 'include', 'loadmodule'])",messageExpression="'config: remove' + ('port' in self ? ' port' : '') + ('bind' in self ? ' bind' : '') + ('protected-mode' in self ? ' protected-mode' : '') + ('unixsocket' in self ? ' unixsocket' : '') + ('unixsocketperm' in self ? ' unixsocketperm' : '') + ('daemonize' in self ? ' daemonize' : '') + ('supervised' in self ? ' supervised' : '') + ('pidfile' in self ? ' pidfile' : '') + ('logfile' in self ? ' logfile' : '') + ('dir' in self ? ' dir' : '') + ('dbfilename' in self ? ' dbfilename' : '') + ('include' in self ? ' include' : '') + ('loadmodule' in self ? ' loadmodule' : '') + '; the operator depends on it (for the port use spec.port)'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['user', 'aclfile', 'requirepass', 'masterauth', 'masteruser', 'rename-command', 'acl-pubsub-default', 'enable-protected-configs', 'enable-module-command'])",messageExpression="'config: remove' + ('user' in self ? ' user' : '') + ('aclfile' in self ? ' aclfile' : '') + ('requirepass' in self ? ' requirepass' : '') + ('masterauth' in self ? ' masterauth' : '') + ('masteruser' in self ? ' masteruser' : '') + ('rename-command' in self ? ' rename-command' : '') + ('acl-pubsub-default' in self ? ' acl-pubsub-default' : '') + ('enable-protected-configs' in self ? ' enable-protected-configs' : '') + ('enable-module-command' in self ? ' enable-module-command' : '') + '; the operator depends on it (for a password use spec.passwordSecret)'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['replicaof', 'slaveof', 'replica-serve-stale-data', 'slave-serve-stale-data', 'replica-read-only', 'slave-read-only', 'replica-announce-ip', 'slave-announce-ip', 'replica-announce-port', 'slave-announce-port', 'primaryauth', 'primaryuser', 'shutdown-on-sigterm', 'shutdown-on-sigint'])",messageExpression="'config: remove' + ('replicaof' in self ? ' replicaof' : '') + ('slaveof' in self ? ' slaveof' : '') + ('replica-serve-stale-data' in self ? ' replica-serve-stale-data' : '') + ('slave-serve-stale-data' in self ? ' slave-serve-stale-data' : '') + ('replica-read-only' in self ? ' replica-read-only' : '') + ('slave-read-only' in self ? ' slave-read-only' : '') + ('replica-announce-ip' in self ? ' replica-announce-ip' : '') + ('slave-announce-ip' in self ? ' slave-announce-ip' : '') + ('replica-announce-port' in self ? ' replica-announce-port' : '') + ('slave-announce-port' in self ? ' slave-announce-port' : '') + ('primaryauth' in self ? ' primaryauth' : '') + ('primaryuser' in self ? ' primaryuser' : '') + ('shutdown-on-sigterm' in self ? ' shutdown-on-sigterm' : '') + ('shutdown-on-sigint' in self ? ' shutdown-on-sigint' : '') + '; the operator depends on it, since it decides the roles'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.startsWith('min-replicas-') || k.startsWith('min-slaves-') || k.startsWith('cluster-') || k.startsWith('tls-') || k == 'rdb-del-sync-files')",message="config: min-replicas-*, cluster-*, tls-* and rdb-del-sync-files belong to the operator; remove them"
	// +optional
	Config map[string]ConfigValue `json:"config,omitempty"`

	// failover says when a primary is given up and what may be risked for it.
	// +kubebuilder:default={}
	// +optional
	Failover FailoverSpec `json:"failover,omitempty"`

	// service says how clients reach the primary.
	// +optional
	Service ServiceSpec `json:"service,omitempty"`

	// podTemplate says where the Redis pods run and what they carry. Changing it replaces the pods one by one.
	// +optional
	PodTemplate PodTemplate `json:"podTemplate,omitempty"`

	// paused true makes the operator look and report and change nothing, failovers included. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// ConfigValue is the value of one setting as it stands in redis.conf, for example "allkeys-lru", "60 1000" or "".
//
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\x00-\\\\x1f\\\\x7f]')",message="config: values are one line, without tabs, line breaks or other control characters"
type ConfigValue string

// SecretKeyReference names one key of a Secret in the resource's namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +kubebuilder:validation:XValidation:rule="size(self) >= 1 && size(self) <= 253",message="passwordSecret.name: write the name of a Secret in the same namespace"
	// +required
	Name string `json:"name"`

	// key within the Secret. Default "password".
	// +kubebuilder:default=password
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// FailoverPolicy says what may be risked to have a primary again.
//
// +kubebuilder:validation:Enum=Safe;BestEffort
type FailoverPolicy string

const (
	// FailoverSafe promotes only when no write that a replica confirmed can be lost by it; otherwise it waits and says for what.
	FailoverSafe FailoverPolicy = "Safe"
	// FailoverBestEffort promotes the best replica that answers. Writes that only an unreachable node has are lost.
	FailoverBestEffort FailoverPolicy = "BestEffort"
)

// FailoverSpec says when a primary is given up and what may be risked for it.
type FailoverSpec struct {
	// timeoutSeconds is how long a primary must be silent, in seconds, before it is suspected dead; 4 to 300. Default 5.
	// A death that is certain (its process ended, nothing listens at its address) is acted upon at once.
	// +kubebuilder:default=5
	// +kubebuilder:validation:XValidation:rule="self >= 4 && self <= 300",message="failover.timeoutSeconds: write a number from 4 to 300"
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// policy is Safe (promote only when nothing that a replica confirmed can be lost; else wait) or
	// BestEffort (promote the best replica that answers). Default Safe.
	// +kubebuilder:default=Safe
	// +optional
	Policy FailoverPolicy `json:"policy,omitempty"`
}

// ServiceSpec says how clients reach the primary.
type ServiceSpec struct {
	// type of the Service that leads to the primary: ClusterIP, NodePort or LoadBalancer. Default ClusterIP.
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +kubebuilder:default=ClusterIP
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`

	// annotations of that Service, for example those that a cloud's load balancer reads.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodePort is the port on each node where type is NodePort or LoadBalancer. Default: Kubernetes chooses one.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	NodePort int32 `json:"nodePort,omitempty"`

	// loadBalancerClass names the load balancer implementation where type is LoadBalancer. Default: the cluster's own.
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
}

// PodTemplate says where the Redis pods run and what they carry.
type PodTemplate struct {
	// labels added to the pods. The operator's own labels win.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations added to the pods. The operator's own annotations win.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodeSelector lists the labels a node must have to run a pod.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity of the pods. Default: pods of one resource prefer different nodes and zones.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations of the pods.
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// topologySpreadConstraints of the pods. A constraint without labelSelector counts the pods of this resource.
	// +listType=atomic
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName of the pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// imagePullSecrets name the Secrets with the credentials for the image's registry.
	// +listType=atomic
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// serviceAccountName of the pods. Its token is not mounted. Default: the namespace's default service account.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}
