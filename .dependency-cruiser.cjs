/** Which room may import which (src/README.md). Everything not listed is forbidden. */
const seams = ['domain', 'runtime', 'store', 'coordination', 'connectors'];
const allowed = {
  domain: [],
  runtime: [],
  store: ['domain', 'runtime'],
  coordination: ['domain', 'runtime'],
  connectors: ['domain', 'runtime'],
  engine: seams,
  watch: seams,
  commands: seams,
  graphql: ['domain', 'runtime', 'commands', 'store', 'coordination'],
  http: ['runtime', 'graphql', 'commands', 'coordination'],
};
const rooms = Object.entries(allowed).map(([room, may]) => ({
  name: `${room}-imports-only-${[room, ...may].join('+')}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/', pathNot: `^src/(${[room, ...may].join('|')})/` },
}));
const only = (name, packages, where) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: where },
  to: { path: packages.map((p) => `node_modules/${p}(/|$)`) },
});
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/(main\\.ts$|client/|demo/|store/embedded/pglite-worker\\.js$)' },
      to: {},
    },
    {
      name: 'only-the-root-sees-the-root',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/[^/]+\\.ts$|^src/demo/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    ...rooms,
    {
      name: 'connectors-by-contract',
      severity: 'error',
      from: { path: '^src/(engine|watch|commands)/' },
      to: { path: '^src/connectors/', pathNot: '^src/connectors/(connector|source|destination|registry)\\.ts$' },
    },
    {
      name: 'coordination-by-contract',
      severity: 'error',
      from: { path: '^src/(engine|watch|commands|graphql|http)/' },
      to: { path: '^src/coordination/(redis|memory)/' },
    },
    {
      name: 'graphql-reads-history-only',
      severity: 'error',
      from: { path: '^src/graphql/' },
      to: { path: '^src/store/', pathNot: '^src/store/history', dependencyTypesNot: ['type-only'] },
    },
    { name: 'domain-is-pure', severity: 'error', from: { path: '^src/domain/' }, to: { pathNot: '^src/domain/' } },
    {
      name: 'client-uses-the-api-only',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^src/', pathNot: '^src/client/' },
    },
    {
      name: 'demo-uses-the-api-only',
      severity: 'error',
      from: { path: '^src/demo/' },
      to: { path: '^src/', pathNot: '^src/(demo|client)/' },
    },
    { name: 'src-never-imports-test', severity: 'error', from: { path: '^src/' }, to: { path: '^test/' } },
    only('sql-only-in-store', ['drizzle-orm', '@electric-sql'], '^src/store/'),
    only('postgresql-only-in-store-and-its-connector', ['postgres'], '^src/store/|^src/connectors/postgres-session\\.ts$'),
    only(
      'redis-only-in-coordination',
      ['ioredis', 'graphql-redis-subscriptions', 'graphql-subscriptions', 'rate-limiter-flexible'],
      '^src/coordination/',
    ),
    only('pothos-only-in-graphql', ['@pothos'], '^src/graphql/'),
    only('yoga-only-in-http', ['graphql-yoga', 'graphql-ws', 'ws'], '^src/(http|demo|client)/'),
    only('pino-only-in-runtime', ['pino'], '^src/runtime/'),
    only('phones-only-in-connectors', ['libphonenumber-js'], '^src/connectors/'),
    only('alert-channels-only-in-watch', ['nodemailer', '@sentry'], '^src/watch/'),
    only('signatures-only-where-we-send', ['standardwebhooks'], '^src/(watch|connectors)/'),
    only(
      'formats-of-others-only-in-connectors',
      ['csv-parse', 'lossless-json', 'http-link-header'],
      '^src/(connectors|demo)/',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
