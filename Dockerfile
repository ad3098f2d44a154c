# The executable and nothing else. Build: docker build --build-arg POMBO_COMMIT="$(git rev-parse --short=12 HEAD)" -t pombo .
# Set up: docker run --rm -v pombo:/var/lib/pombo pombo init --config /var/lib/pombo/pombo.toml --hostname mail.example.net
# Run:    docker run -d --stop-timeout 60 -p 25:25 -p 127.0.0.1:8080:8080 -v pombo:/var/lib/pombo pombo
# In a container the API must listen on all its addresses: [http] listen = "0.0.0.0:8080".
# Bounces come in at port 25. Where a proxy of the container's network hides the clients' addresses they count as one
# client, of which ten connections are let in: give the container the host's network then.
# For Prometheus in another container likewise [metrics] listen = "0.0.0.0:9464"; publish that port to nobody else.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl unzip npm && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ARG POMBO_COMMIT=unknown
RUN POMBO_COMMIT="$POMBO_COMMIT" bash script/build

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
  && useradd --system --home-dir /var/lib/pombo --shell /usr/sbin/nologin pombo \
  && install -d -o pombo -g pombo -m 0700 /var/lib/pombo
COPY --from=build /src/dist/pombo /usr/local/bin/pombo
USER pombo
VOLUME /var/lib/pombo
EXPOSE 25 8080
ENTRYPOINT ["pombo"]
CMD ["serve", "--config", "/var/lib/pombo/pombo.toml"]
