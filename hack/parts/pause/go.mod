module example.com/redis-operator/hack/parts/pause

go 1.26.0
