/**
 * The environment, read once: one frozen Config, or all its problems at once.
 *
 * Invariant: nothing else reads the environment. Times are milliseconds; names end in their unit.
 */
import { join, resolve } from 'node:path'
import { z } from 'zod'
import {
  ALERT_ENVIRONMENT,
  type AlertSettings,
  alertRules,
  listChannels,
  toAlertSettings,
} from './config-alerts.ts'
import { API_ENVIRONMENT, toApiLimits } from './config-api.ts'
import { isAddressRange } from './connectors/address-guard.ts'
import type { AlertChannel } from './domain/alert.ts'
import { BREAKER_THRESHOLD, MAX_BREAKER_THRESHOLD } from './domain/breaker.ts'
import { DEAD_MAN_MINUTE } from './domain/dead-man.ts'
import { QUARANTINE_AFTER_RUNS } from './domain/quarantine.ts'
import type { ApiLimits } from './http/limits.ts'
import { LOG_LEVELS, type LogLevel } from './runtime/logger.ts'
import { SEALING_KEY_BYTES } from './runtime/seal.ts'
import { WordedError } from './runtime/worded-error.ts'

const ROLES = ['all', 'api', 'worker'] as const
export type Role = (typeof ROLES)[number]

/** Where the database and the coordination are. */
export type Deployment =
  | { readonly kind: 'embedded' }
  | {
      readonly kind: 'services'
      readonly databaseUrl: string
      readonly redisUrl: string
      readonly databaseConnections: number
      /** 32 bytes that seal the connections' credentials and the rows of records that are set aside. */
      readonly credentialsKey: Uint8Array
    }

export interface Config {
  readonly deployment: Deployment
  /** 32 bytes each: they open what was sealed before, and seal nothing. */
  readonly oldCredentialsKeys: readonly Uint8Array[]
  readonly role: Role
  /** What this process keeps on disk: the embedded database, its first token, its key. */
  readonly dataDirectory: string
  /** The directory below which the file source reads. */
  readonly fileRoot: string
  /** Ranges of addresses that are not public and that connections may reach all the same. */
  readonly allowedPrivateRanges: readonly string[]
  readonly host: string
  readonly port: number
  readonly graphiql: boolean
  /** What the API takes. */
  readonly apiLimits: ApiLimits
  /** Requests that one token may make in 10 s, in all processes together; 0: as many as it likes. */
  readonly maxRequests: number
  readonly logLevel: LogLevel
  /** Runs at once in this process. */
  readonly slots: number
  readonly pollMs: number
  readonly leaseLifeMs: number
  readonly leaseRenewalMs: number
  readonly firstBackoffMs: number
  readonly backoffFactor: number
  readonly ledgerRetentionMs: number
  readonly heartbeatMs: number
  readonly heartbeatTrustMs: number
  readonly silentAfterMs: number
  readonly schedulerIntervalMs: number
  readonly sweepIntervalMs: number
  /** A scheduled run whose attempt is older, and shows no sign of life, is swept. */
  readonly stuckAfterMs: number
  /** How long, after SIGTERM, the API answers at least, although it is not ready. */
  readonly drainNoticeMs: number
  readonly drainDeadlineMs: number
  readonly processDeadlineMs: number
  /** In so many runs a record is rejected before it is set aside. */
  readonly quarantineAfterRuns: number
  /** Failed runs in a row after which a sync is paused, where it says nothing else. */
  readonly breakerThreshold: number
  /** How often the watchmen look whether a check is due, and whether runs wait that nobody takes. */
  readonly watchIntervalMs: number
  /** How long nothing of a workspace must have succeeded before it is silent. */
  readonly deadManWindowMs: number
  /** The minute of every hour, in UTC, at which that is asked. */
  readonly deadManMinute: number
  /** How long a run may be due without a worker that takes it. */
  readonly queueStuckAfterMs: number
  /** Without progress for longer than this, a running run says so. */
  readonly progressStaleAfterMs: number
  /** Where alerts are sent. */
  readonly alertChannels: readonly AlertChannel[]
  readonly alerts: AlertSettings
}

/** Every problem of the environment, each in one sentence that names the variable. */
export class ConfigError extends WordedError {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join(' '))
    this.problems = problems
  }
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const duration = (fallbackMs: number, least: number, most: number) =>
  z.coerce
    .number('must be a whole number of milliseconds')
    .int()
    .min(least)
    .max(most)
    .default(fallbackMs)

/** Empty variables count as unset: that is what a deployment file leaves behind. */
const optionalText = z.string().optional()

export const ENVIRONMENT = z.object({
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// address' })
    .optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// address' }).optional(),
  DATABASE_CONNECTIONS: z.coerce.number().int().min(2).max(500).default(20),
  CREDENTIALS_KEY: optionalText,
  CREDENTIALS_OLD_KEYS: optionalText,
  ROLE: z.enum(ROLES).default('all'),
  DATA_DIR: z.string().default('.data'),
  FILE_ROOT: optionalText,
  ALLOWED_PRIVATE_RANGES: z
    .string()
    .refine(
      (text) => readList(text).every(isAddressRange),
      'must be ranges of addresses such as 10.1.0.0/16 or fd00::/8 with commas between them',
    )
    .optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(4000),
  GRAPHIQL: z.enum(['true', 'false']).optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  WORKER_SLOTS: z.coerce.number().int().min(1).max(1_000).default(10),
  POLL_MS: duration(5_000, 10, MINUTE_MS),
  LEASE_LIFE_MS: duration(15 * MINUTE_MS, 1_000, DAY_MS),
  LEASE_RENEWAL_MS: duration(5 * MINUTE_MS, 100, DAY_MS),
  FIRST_BACKOFF_MS: duration(MINUTE_MS, 0, DAY_MS),
  BACKOFF_FACTOR: z.coerce.number().min(1).max(10).default(2),
  LEDGER_RETENTION_MS: duration(7 * DAY_MS, DAY_MS, 90 * DAY_MS),
  QUARANTINE_AFTER_RUNS: z.coerce
    .number('must be a whole number of runs')
    .int()
    .min(1)
    .max(100)
    .default(QUARANTINE_AFTER_RUNS),
  BREAKER_THRESHOLD: z.coerce
    .number('must be a whole number of runs')
    .int()
    .min(1)
    .max(MAX_BREAKER_THRESHOLD)
    .default(BREAKER_THRESHOLD),
  PROGRESS_STALE_AFTER_MS: duration(2 * MINUTE_MS, 1_000, DAY_MS),
  HEARTBEAT_MS: duration(5_000, 50, 10 * MINUTE_MS),
  HEARTBEAT_TRUST_MS: duration(15_000, 100, 10 * MINUTE_MS),
  SILENT_AFTER_MS: duration(20_000, 200, 60 * MINUTE_MS),
  SCHEDULER_INTERVAL_MS: duration(1_000, 10, MINUTE_MS),
  SWEEP_INTERVAL_MS: duration(MINUTE_MS, 100, DAY_MS),
  STUCK_AFTER_MS: duration(60 * MINUTE_MS, 1_000, 30 * DAY_MS),
  WATCH_INTERVAL_MS: duration(MINUTE_MS, 50, 10 * MINUTE_MS),
  DEAD_MAN_WINDOW_MS: duration(DAY_MS, 60 * MINUTE_MS, 30 * DAY_MS),
  DEAD_MAN_MINUTE: z.coerce
    .number('must be a minute of the hour')
    .int()
    .min(0)
    .max(59)
    .default(DEAD_MAN_MINUTE),
  QUEUE_STUCK_AFTER_MS: duration(15 * MINUTE_MS, 1_000, DAY_MS),
  DRAIN_NOTICE_MS: z.coerce
    .number('must be a whole number of milliseconds')
    .int()
    .min(0)
    .max(10 * MINUTE_MS)
    .optional(),
  DRAIN_DEADLINE_MS: duration(15_000, 100, 10 * MINUTE_MS),
  PROCESS_DEADLINE_MS: duration(25_000, 200, 15 * MINUTE_MS),
  ...API_ENVIRONMENT,
  ...ALERT_ENVIRONMENT,
})
type Environment = z.infer<typeof ENVIRONMENT>

/** Throws {@link ConfigError} with every problem. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ''),
  )
  const parsed = ENVIRONMENT.safeParse(given)
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(describeIssue))
  }
  const problems = findContradictions(parsed.data)
  if (problems.length > 0) {
    throw new ConfigError(problems)
  }
  return Object.freeze(toConfig(parsed.data))
}

function describeIssue(issue: z.core.$ZodIssue): string {
  return `${issue.path.join('.')}: ${issue.message}.`
}

function findContradictions(env: Environment): string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [
      (env.DATABASE_URL === undefined) === (env.REDIS_URL === undefined),
      'DATABASE_URL and REDIS_URL go together: set both, or neither for the embedded default.',
    ],
    [
      env.DATABASE_URL === undefined || decodeKey(env.CREDENTIALS_KEY) !== null,
      `CREDENTIALS_KEY must be ${SEALING_KEY_BYTES} bytes in base64 when DATABASE_URL is set (make one with: openssl rand -base64 32).`,
    ],
    [
      decodeKeys(env.CREDENTIALS_OLD_KEYS) !== null,
      `CREDENTIALS_OLD_KEYS must be keys of ${SEALING_KEY_BYTES} bytes in base64 with commas between them.`,
    ],
    [
      env.DATABASE_URL !== undefined || env.ROLE === 'all',
      'ROLE must be all with the embedded default, which is one process.',
    ],
    [
      env.LEASE_RENEWAL_MS < env.LEASE_LIFE_MS,
      'LEASE_RENEWAL_MS must be less than LEASE_LIFE_MS: a lease that is renewed too late is lost.',
    ],
    [
      env.HEARTBEAT_MS < env.HEARTBEAT_TRUST_MS,
      'HEARTBEAT_MS must be less than HEARTBEAT_TRUST_MS: a worker would stop trusting itself between two beats.',
    ],
    [
      env.HEARTBEAT_TRUST_MS < env.SILENT_AFTER_MS,
      'HEARTBEAT_TRUST_MS must be less than SILENT_AFTER_MS: a worker must stop before another takes over.',
    ],
    [
      env.SILENT_AFTER_MS < env.STUCK_AFTER_MS,
      'SILENT_AFTER_MS must be less than STUCK_AFTER_MS: a sweep must leave the runs of silent workers to recovery first.',
    ],
    [
      env.POLL_MS < env.QUEUE_STUCK_AFTER_MS,
      'POLL_MS must be less than QUEUE_STUCK_AFTER_MS: a run that waits for the next poll is not stuck.',
    ],
    [
      env.QUEUE_STUCK_AFTER_MS < env.DEAD_MAN_WINDOW_MS,
      'QUEUE_STUCK_AFTER_MS must be less than DEAD_MAN_WINDOW_MS: a stuck queue must be noticed before the silence that follows it.',
    ],
    [
      (env.DRAIN_NOTICE_MS ?? 0) <= env.DRAIN_DEADLINE_MS,
      'DRAIN_NOTICE_MS must not be more than DRAIN_DEADLINE_MS, by which a process has drained.',
    ],
    [
      env.DRAIN_DEADLINE_MS < env.PROCESS_DEADLINE_MS,
      'DRAIN_DEADLINE_MS must be less than PROCESS_DEADLINE_MS: a process that has drained needs time to end.',
    ],
    ...alertRules(env),
  ]
  return rules.filter(([holds]) => !holds).map(([, problem]) => problem)
}

/** Texts with commas between them. */
function readList(text: string): string[] {
  return text === '' ? [] : text.split(',').map((one) => one.trim())
}

function decodeKey(text: string | undefined): Uint8Array | null {
  const key = Buffer.from(text ?? '', 'base64')
  return key.length === SEALING_KEY_BYTES ? key : null
}

/** Null: one of them is no key. */
function decodeKeys(text: string | undefined): readonly Uint8Array[] | null {
  const keys = (text ?? '')
    .split(',')
    .filter((each) => each.trim() !== '')
    .map(decodeKey)
  return keys.every((key) => key !== null) ? keys : null
}

function toConfig(env: Environment): Config {
  const credentialsKey = decodeKey(env.CREDENTIALS_KEY)
  const dataDirectory = resolve(env.DATA_DIR)
  const alerts = toAlertSettings(env)
  const deployment: Deployment =
    env.DATABASE_URL !== undefined && env.REDIS_URL !== undefined && credentialsKey
      ? {
          kind: 'services',
          databaseUrl: env.DATABASE_URL,
          redisUrl: env.REDIS_URL,
          databaseConnections: env.DATABASE_CONNECTIONS,
          credentialsKey,
        }
      : { kind: 'embedded' }
  const graphiql =
    env.GRAPHIQL === undefined ? deployment.kind === 'embedded' : env.GRAPHIQL === 'true'
  return {
    deployment,
    oldCredentialsKeys: decodeKeys(env.CREDENTIALS_OLD_KEYS) ?? [],
    role: env.ROLE,
    dataDirectory,
    fileRoot: env.FILE_ROOT === undefined ? join(dataDirectory, 'files') : resolve(env.FILE_ROOT),
    allowedPrivateRanges: readList(env.ALLOWED_PRIVATE_RANGES ?? ''),
    host: env.HOST,
    port: env.PORT,
    graphiql,
    apiLimits: toApiLimits(env, graphiql),
    maxRequests: env.API_MAX_REQUESTS,
    logLevel: env.LOG_LEVEL,
    slots: env.WORKER_SLOTS,
    pollMs: env.POLL_MS,
    leaseLifeMs: env.LEASE_LIFE_MS,
    leaseRenewalMs: env.LEASE_RENEWAL_MS,
    firstBackoffMs: env.FIRST_BACKOFF_MS,
    backoffFactor: env.BACKOFF_FACTOR,
    ledgerRetentionMs: env.LEDGER_RETENTION_MS,
    heartbeatMs: env.HEARTBEAT_MS,
    heartbeatTrustMs: env.HEARTBEAT_TRUST_MS,
    silentAfterMs: env.SILENT_AFTER_MS,
    schedulerIntervalMs: env.SCHEDULER_INTERVAL_MS,
    sweepIntervalMs: env.SWEEP_INTERVAL_MS,
    stuckAfterMs: env.STUCK_AFTER_MS,
    drainNoticeMs: env.DRAIN_NOTICE_MS ?? decideNoticeMs(deployment, env.DRAIN_DEADLINE_MS),
    drainDeadlineMs: env.DRAIN_DEADLINE_MS,
    processDeadlineMs: env.PROCESS_DEADLINE_MS,
    quarantineAfterRuns: env.QUARANTINE_AFTER_RUNS,
    breakerThreshold: env.BREAKER_THRESHOLD,
    watchIntervalMs: env.WATCH_INTERVAL_MS,
    deadManWindowMs: env.DEAD_MAN_WINDOW_MS,
    deadManMinute: env.DEAD_MAN_MINUTE,
    queueStuckAfterMs: env.QUEUE_STUCK_AFTER_MS,
    progressStaleAfterMs: env.PROGRESS_STALE_AFTER_MS,
    alertChannels: listChannels(alerts),
    alerts,
  }
}

/** As long as a load balancer may take to ask twice. Nothing stands before the embedded default. */
const NOTICE_MS = 5_000

function decideNoticeMs(deployment: Deployment, drainDeadlineMs: number): number {
  return deployment.kind === 'embedded' ? 0 : Math.min(NOTICE_MS, drainDeadlineMs)
}
