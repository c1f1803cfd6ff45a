// Package crd tests what the API server makes of a RedisCluster before the operator sees it: rules, defaults, descriptions.
package crd
