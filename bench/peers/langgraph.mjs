import { join } from 'node:path';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import Database from 'better-sqlite3';

/** @typedef {import('../peers-task.ts').Next} Next */

const NOTE = 'x'.repeat(300);
const NODES = /** @type {const} */ (['first', 'second', 'third', 'fourth', 'fifth', 'sixth']);

const State = Annotation.Root({ steps: Annotation(), note: Annotation() });

/**
 * LangGraph.js with its SQLite checkpointer: a graph of six nodes, a thread for each loop, `durability: 'sync'`, so that each step
 * is persisted before the next one starts. SQLite's own setting is what the checkpointer leaves it at, or FULL.
 *
 * @param {string} folder
 * @param {string} variant 'full' or 'default'
 * @returns {Promise<import('../peers-task.ts').Contestant>}
 */
export const open = async (folder, variant) => {
  const db = new Database(join(folder, 'langgraph.db'));
  if (variant === 'full') db.pragma('synchronous = FULL');
  const checkpointer = new SqliteSaver(db);
  /** @type {Map<string, Next>} */
  const nexts = new Map();
  const graph = createGraph(nexts).compile({ checkpointer });
  return {
    loop: async (id, next) => {
      nexts.set(id, next);
      await graph.invoke({ steps: 0, note: '' }, { configurable: { thread_id: id }, durability: 'sync' });
      nexts.delete(id);
    },
    close: async () => {
      db.close();
    },
  };
};

/** @param {Map<string, Next>} nexts */
const createGraph = (nexts) => {
  const graph = new StateGraph(State);
  for (const node of NODES)
    graph.addNode(node, async (state, config) => {
      await nexts.get(config.configurable.thread_id)?.();
      return { steps: state.steps + 1, note: NOTE };
    });
  for (const [index, node] of NODES.entries()) graph.addEdge(index === 0 ? START : NODES[index - 1], node);
  return graph.addEdge('sixth', END);
};

/** @param {string} folder */
export const readBack = async (folder) => {
  const db = new Database(join(folder, 'langgraph.db'), { readonly: true });
  const threads = db.prepare('select distinct thread_id as id from checkpoints').all();
  db.close();
  const graph = createGraph(new Map()).compile({
    checkpointer: SqliteSaver.fromConnString(join(folder, 'langgraph.db')),
  });
  let steps = 0;
  let loops = 0;
  for (const { id } of threads) {
    const { values, next } = await graph.getState({ configurable: { thread_id: id } });
    steps += values.steps ?? 0;
    if (next.length === 0 && values.note === NOTE) loops += 1;
  }
  return { steps, loops };
};
