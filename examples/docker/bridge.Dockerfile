FROM node:24-slim
RUN npm install --global everwire pino prom-client
USER node
ENTRYPOINT ["everwire"]
