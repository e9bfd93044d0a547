# docker build --build-arg REVISION=$(git rev-parse HEAD) -t halflife .
# The files of the image, and the lines below that say how it runs, are those of `make image`, which needs no container
# engine: see deploy/image.
FROM debian:12-slim AS build
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        gcc libc6-dev make pkg-config ca-certificates tzdata libcurl4-gnutls-dev libjansson-dev libyaml-dev libsqlite3-dev \
        libcmocka-dev libmicrohttpd-dev libgnutls28-dev zlib1g-dev
WORKDIR /halflife
COPY Makefile Dockerfile LICENSE VERSION ./
COPY deploy deploy
COPY include include
COPY src src
ARG REVISION=unknown
RUN make -j"$(nproc)" MODE=release REVISION="$REVISION" build/release/halflife \
        && deploy/image root build/release/halflife /out

FROM scratch
COPY --from=build /out/ /
COPY --from=build --chown=65532:65532 /out/var/lib/halflife /var/lib/halflife
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="halflife" \
      org.opencontainers.image.description="A Kubernetes controller that keeps workload requests at what the workload really uses" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
ENV PATH=/usr/bin
USER 65532:65532
VOLUME /var/lib/halflife
EXPOSE 8080 8443
ENTRYPOINT ["/usr/bin/halflife"]
CMD ["run", "--database", "/var/lib/halflife/halflife.db", "--listen", ":8080"]
