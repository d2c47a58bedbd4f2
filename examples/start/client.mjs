import { connect } from 'everwire/client';

const demo = { command: 'npx', args: ['everwire', 'demo', '--stdio'] };
const client = await connect(process.argv[2] ?? demo);
try {
  console.log(`${client.serverInfo?.name} speaks ${client.revision}`);
  for (const tool of await client.listTools()) console.log(`tool: ${tool.name}, ${tool.description}`);
  const sum = await client.callTool('add', { a: 40, b: 2 });
  console.log('add:', sum.structuredContent);
  const { contents } = await client.readResource('greeting://Ada');
  console.log('greeting:', contents[0].text);
} finally {
  await client.close();
}
