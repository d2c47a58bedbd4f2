/**
 * A client for the tests of a server, and a server for the tests of a client, for any test runner.
 *
 * @module
 */
export { mockServer, type MockMiss, type MockServer, type MockServerOptions } from '../mock/mock-server.ts';
export { type Answer, type Answers, type AskedQuestion, unchecked, type Unchecked } from './answers.ts';
export {
  type NextOptions,
  type NotificationName,
  type NotificationParams,
  Notifications,
  type ParamsOf,
  type ReceivedNotification,
} from './notifications.ts';
export { testClient, type TestableServer, type TestClient, type TestClientOptions } from './test-client.ts';
