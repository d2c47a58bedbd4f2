/**
 * The variable of the environment for a secret. All begin with `MCP_`: a recording may name any other, such as
 * `AWS_SECRET_ACCESS_KEY`, and its value would go to the server of the recording without being asked for.
 */
export function variableOf(name: string): string {
  const variable = name.toUpperCase().replaceAll(/[^A-Z\d]+/g, '_');
  return variable.startsWith('MCP_') ? variable : `MCP_${variable}`;
}
