// Stands in for a file of the MCP SDK when it is bundled. Its own brings in a compiler of JSON Schemas, half of the whole;
// src/mcp/client/capabilities.ts hands the SDK a validator that lets everything through, so that this one is never asked.

export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data) => ({ valid: true, data, errorMessage: undefined });
  }
}
