# The executable and what it needs of a system: no shell, no package manager, no root. From what script/build made:
#   script/build && docker build -t pombo .
#   script/build --target linux-arm64 && docker build --platform linux/arm64 --build-arg EXECUTABLE=dist/pombo-linux-arm64 -t pombo .
# With Docker 23 or newer (before: DOCKER_BUILDKIT=1), or with buildah
# (1.28 needs --build-arg BUILDPLATFORM=linux/amd64 to make an image for arm64).
# Set up:  docker run --rm -v pombo:/var/lib/pombo pombo init --config /var/lib/pombo/pombo.toml --hostname mail.example.net --listen 0.0.0.0:8080
# Run:     docker run -d --name pombo --restart unless-stopped --stop-timeout 90 -p 25:25 -p 127.0.0.1:8080:8080 -v pombo:/var/lib/pombo pombo
# In Compose: `stop_grace_period: 90s`. Docker's own ten seconds would end deliveries in the middle, and leave the replica behind.
# In a container the API must listen on all its addresses, as --listen has it; -p says who reaches it. Commands: docker exec pombo pombo workspace list
# Bounces come in at port 25, which Docker lets a user other than root open; elsewhere set the container's sysctl
# net.ipv4.ip_unprivileged_port_start=0. Where a proxy of the container's network hides the clients' addresses they count
# as one client, of which ten connections are let in: give the container the host's network then.
# For Prometheus in another container likewise [metrics] listen = "0.0.0.0:9464"; publish that port to nobody else.
# Another version is another image with the same volume: not pombo update, which replaces an executable on a disk.
ARG BASE=debian:bookworm-slim
FROM --platform=$BUILDPLATFORM ${BASE} AS parts
ARG TARGETARCH
# The C library with its loader, OpenSSL (which signs faster than what the runtime has), certificates of authorities.
# The packages are unpacked, not installed: so nothing of the other processor runs here.
RUN set -eu; dpkg --add-architecture "$TARGETARCH"; apt-get update; apt-get install -y --no-install-recommends ca-certificates; \
  mkdir -p /parts /debs; cd /debs; apt-get download "libc6:$TARGETARCH" "libssl3:$TARGETARCH"; \
  for each in *.deb; do dpkg-deb -x "$each" /parts; done
RUN set -eu; mkdir -p /image/etc/ssl/certs /image/var/lib/pombo /image/tmp; cd /parts; \
  for file in lib64/ld-linux-*.so.* lib/ld-linux-*.so.* lib/*/ld-linux-*.so.* lib/*/libc.so.6 lib/*/libm.so.6 \
    lib/*/libdl.so.2 lib/*/libpthread.so.0 lib/*/libresolv.so.2 usr/lib/*/libcrypto.so.3; do \
    if [ -e "$file" ] || [ -L "$file" ]; then cp -a --parents "$file" /image; fi; \
  done; \
  cp -L /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/; \
  echo 'pombo:x:10001:10001:pombo:/var/lib/pombo:/sbin/nologin' >/image/etc/passwd; \
  echo 'pombo:x:10001:' >/image/etc/group; \
  echo 'hosts: files dns' >/image/etc/nsswitch.conf; \
  chown 10001:10001 /image/var/lib/pombo; chmod 0700 /image/var/lib/pombo; chmod 1777 /image/tmp

FROM scratch
ARG EXECUTABLE=dist/pombo
COPY --from=parts /image /
COPY ${EXECUTABLE} /usr/local/bin/pombo
ENV PATH=/usr/local/bin POMBO_CONFIG=/var/lib/pombo/pombo.toml
USER 10001:10001
WORKDIR /var/lib/pombo
VOLUME /var/lib/pombo
EXPOSE 25 8080
STOPSIGNAL SIGTERM
# Whether it answers: that its DNS or its disk has trouble is no reason to restart it (pombo status tells that).
HEALTHCHECK --interval=60s --timeout=10s --start-period=60s CMD ["/usr/local/bin/pombo", "health"]
ENTRYPOINT ["/usr/local/bin/pombo"]
CMD ["serve"]
