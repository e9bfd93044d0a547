# docker build --build-arg VERSION=$(git describe --tags --always) -t halflife .
FROM debian:12-slim AS build
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        gcc libc6-dev make pkg-config ca-certificates tzdata libcurl4-openssl-dev libjansson-dev libyaml-dev libsqlite3-dev \
        libcmocka-dev libmicrohttpd-dev libgnutls28-dev zlib1g-dev
WORKDIR /halflife
COPY Makefile ./
COPY include include
COPY src src
ARG VERSION=unknown
RUN make -j"$(nproc)" MODE=release VERSION="$VERSION" build/release/halflife \
        && install -D -m 755 build/release/halflife /out/usr/bin/halflife

FROM debian:12-slim
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates tzdata libcurl4 libjansson4 libyaml-0-2 libsqlite3-0 libmicrohttpd12 libgnutls30 zlib1g \
        && rm -rf /var/lib/apt/lists/* \
        && install -d -o 65532 -g 65532 /var/lib/halflife
COPY --from=build /out/ /
COPY LICENSE /usr/share/doc/halflife/LICENSE
ARG VERSION=unknown
LABEL org.opencontainers.image.title="halflife" \
      org.opencontainers.image.description="A Kubernetes controller that keeps workload requests at what the workload really uses" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
USER 65532:65532
VOLUME /var/lib/halflife
EXPOSE 8080 8443
ENTRYPOINT ["/usr/bin/halflife"]
CMD ["run", "--database", "/var/lib/halflife/halflife.db", "--listen", ":8080"]
