// Replaces a file of the MCP SDK in the bundle. The original imports a JSON Schema compiler, half of the SDK's size; it
// is never called, as src/mcp/client/capabilities.ts gives the SDK a validator that accepts everything.

export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data) => ({ valid: true, data, errorMessage: undefined });
  }
}
