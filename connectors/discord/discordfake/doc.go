// Package discordfake is a Discord server for tests. It speaks the real wire,
// REST under /api/v10 and the gateway's WebSocket, keeps what users would see,
// and fails on demand. Other versions of the API are refused.
//
// A test drives it in three ways: as the people in its rooms ([Server.Say],
// [Server.UserEdit], …), as the weather ([Server.Fault], [Server.CloseGateway],
// …), and as a witness ([Server.Messages], [Server.Log], [Server.Pings], …).
//
// It is stricter than Discord where that finds mistakes: unknown fields, wrong
// types and unknown routes are refused and remembered in [Server.Rejected].
//
// Every wait is a timer of package time, and no state is global, so a server
// made inside a testing/synctest bubble lives on that bubble's clock. All
// methods may be called concurrently.
package discordfake
