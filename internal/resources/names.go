package resources

// The names of the objects made for a resource. The CRD limits the resource's name to 45 characters, so that the longest of
// them, and what Kubernetes appends to a Deployment's name for its pods, fit into 63.

// WorkloadName names the Deployment.
func WorkloadName(name string) string { return name }

// ServiceName names the Service that leads to the primary.
func ServiceName(name string) string { return name }

// ReplicasServiceName names the Service that leads to the replicas, for reads.
func ReplicasServiceName(name string) string { return name + "-replicas" }

// PrimaryServiceName names the headless Service that selects the primary, for kubectl port-forward.
func PrimaryServiceName(name string) string { return name + "-primary" }

// NodesServiceName names the headless Service of all pods.
func NodesServiceName(name string) string { return name + "-nodes" }

// ConfigMapName names the ConfigMap with redis.conf.
func ConfigMapName(name string) string { return name + "-config" }

// SecretName names the Secret with the ACL users and the seed of the operator's passwords.
func SecretName(name string) string { return name + "-users" }

// PDBName names the PodDisruptionBudget.
func PDBName(name string) string { return name }

// PrimarySliceName names the EndpointSlice of the Service that leads to the primary. Kubernetes itself names the slices of a
// Service <service>-<five characters>, so this one cannot meet a slice of the Service <name>-primary.
func PrimarySliceName(name string) string { return name + "-primary-endpoint" }
