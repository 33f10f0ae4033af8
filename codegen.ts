/** The typed client: `npm run generate:client` makes src/client/gql from schema.graphql and the documents. */
import type { CodegenConfig } from '@graphql-codegen/cli'

const config: CodegenConfig = {
  schema: 'schema.graphql',
  documents: ['src/client/**/*.ts', '!src/client/gql/**'],
  importExtension: '.ts',
  emitLegacyCommonJSImports: false,
  generates: {
    'src/client/gql/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        useTypeImports: true,
        enumsAsTypes: true,
        strictScalars: true,
        inputMaybeValue: 'T | null | undefined',
        scalars: { DateTime: 'string', JSON: 'unknown', ID: 'string' },
      },
    },
  },
}

export default config
