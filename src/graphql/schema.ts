/** The schema of the API: every file that defines a type is imported here. */
import type { GraphQLSchema } from 'graphql'
import { builder } from './builder.ts'
import './cancel-run.ts'
import './connection.ts'
import './cursor-reset.ts'
import './delivery-in-doubt.ts'
import './errors.ts'
import './failure.ts'
import './quarantine.ts'
import './run.ts'
import './run-progress.ts'
import './scalars.ts'
import './schedule.ts'
import './sync.ts'
import './sync-mutations.ts'
import './viewer.ts'

export const apiSchema: GraphQLSchema = builder.toSchema()
