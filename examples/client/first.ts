import { connect } from 'everwire/client';

/** @param address for example `https://library.example/mcp` */
export async function openingHours(address: string): Promise<string> {
  const client = await connect(address, { clientInfo: { name: 'reading-room', version: '1.0.0' } });
  try {
    const tools = await client.listTools();
    console.log(`${client.serverInfo?.name} has ${tools.length} tools, and speaks ${client.revision}`);
    const { content } = await client.callTool('opening_hours');
    return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  } finally {
    await client.close();
  }
}
