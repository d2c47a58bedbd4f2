import express from 'express';
import { server } from './tools.ts';

export const app = express();

app.use(express.json());
app.all('/mcp', server.node);
