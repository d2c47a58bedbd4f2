# The everwire command, for bridges: docs/guides/docker.md.
#
#   docker build -t everwire .
#   docker run --rm everwire --help

FROM node:24-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --ignore-scripts
RUN npm pack --pack-destination /tmp
RUN npm install --global --prefix /opt/everwire /tmp/everwire-*.tgz pino prom-client @opentelemetry/api @redis/client

FROM node:24-slim
# The first process of a container has to reap processes that a server leaves behind, which Node does not do.
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/everwire /opt/everwire
ENV PATH=/opt/everwire/bin:$PATH \
    NODE_ENV=production \
    HEALTH_URL=http://127.0.0.1:8000/healthz
USER node
WORKDIR /home/node
# Tokens of logins. A volume for it belongs to the user of this image.
RUN mkdir -p .local/share/everwire
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["node", "-e", "fetch(process.env.HEALTH_URL).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "everwire"]
CMD ["--help"]
