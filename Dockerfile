# For those who have a container engine:
#   docker build -t REGISTRY/redis-operator:TAG .  &&  make deploy IMG=REGISTRY/redis-operator:TAG
# `make image` builds the same image without one.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
WORKDIR /src
# The modules first: they change less often than the code, so that this layer is mostly there already.
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY internal/ internal/
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /manager ./cmd

# One static program that trusts the cluster's own CA: it needs no shell, no libraries and no certificates of an image.
FROM scratch
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
