# What serves and works: built here, with production dependencies only, as a user without rights.
#
#   docker build -t tajo-sync .
#   docker run --init --stop-timeout 45 -p 4000:4000 -v tajo:/data tajo-sync
#
# Embedded, /data holds the database, the first token and the key; with DATABASE_URL and REDIS_URL set,
# only the files that the file source reads (FILE_ROOT, /data/files by default).

FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build

FROM node:20-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:20-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY drizzle drizzle
RUN install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
EXPOSE 4000
# The embedded database takes some seconds for its first start.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
