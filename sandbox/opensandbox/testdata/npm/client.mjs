// Uses the official client on a server, and fails where an answer is not what it should be.
import assert from "node:assert/strict";
import { Sandbox, SandboxManager, SandboxApiException } from "@alibaba-group/opensandbox";

const [domain, apiKey, useServerProxy] = [process.argv[2], process.argv[3], process.argv[4] === "proxy"];
const connectionConfig = { domain, apiKey, useServerProxy };

await assert.rejects(
  Sandbox.create({ connectionConfig: { domain, apiKey: "wrong" }, image: "test" }),
  (err) => err instanceof SandboxApiException && err.statusCode === 401 && err.error.code === "INVALID_API_KEY",
);

const sandbox = await Sandbox.create({
  connectionConfig, image: "test", timeoutSeconds: 120, metadata: { team: "x" }, env: { A: "1" },
  readyTimeoutSeconds: 20, healthCheckPollingInterval: 50,
});
const info = await sandbox.getInfo();
assert.equal(info.status.state, "Running");
assert.equal(info.metadata.team, "x");
assert.ok(new Date(info.expiresAt) > new Date());

const lines = (messages) => messages.map((m) => m.text);
const failed = await sandbox.commands.run("echo $A; echo; echo err >&2; printf 'no newline'; exit 3");
assert.deepEqual(lines(failed.logs.stdout), ["1", "\n", "no newline"]);
assert.deepEqual(lines(failed.logs.stderr), ["err"]);
assert.equal(failed.exitCode, 3);
assert.equal((await sandbox.commands.run("true")).exitCode, 0);
await assert.rejects(sandbox.commands.run("true", { workingDirectory: "/no/such" }), (err) => err.statusCode === 400);
const slow = await sandbox.commands.run("sleep 60", { timeoutSeconds: 1 });
assert.equal(slow.error.value, "-1");
assert.deepEqual(slow.error.traceback, ["signal: killed"]);

const background = await sandbox.commands.run("echo in the background; exit 4", { background: true });
let status;
do status = await sandbox.commands.getCommandStatus(background.id); while (status.running);
assert.equal(status.exitCode, 4);
const logs = await sandbox.commands.getBackgroundCommandLogs(background.id, 3);
assert.equal(logs.content, "the background\n"); // it goes on from a byte
assert.equal(logs.cursor, 18);

const dir = "/workspace";
await sandbox.files.createDirectories([{ path: `${dir}/d`, mode: 750 }]);
await sandbox.files.writeFiles([{ path: `${dir}/d/hello.txt`, data: "hello\nworld\n", mode: 640 }, { path: `${dir}/bin`, data: new Uint8Array([0, 255, 1]) }]);
assert.equal(await sandbox.files.readFile(`${dir}/d/hello.txt`), "hello\nworld\n");
assert.equal(await sandbox.files.readFile(`${dir}/d/hello.txt`, { range: "bytes=2-5" }), "llo\n");
assert.equal(await sandbox.files.readFile(`${dir}/d/hello.txt`, { offset: 2, limit: 1 }), "world\n");
assert.deepEqual([...(await sandbox.files.readBytes(`${dir}/bin`))], [0, 255, 1]);
const infos = await sandbox.files.getFileInfo([`${dir}/d`, `${dir}/d/hello.txt`]);
assert.equal(infos[`${dir}/d/hello.txt`].mode, 640);
assert.equal(infos[`${dir}/d`].type, "directory");
const found = await sandbox.files.search({ path: dir, pattern: "*.txt" });
assert.deepEqual(found.map((f) => f.path), [`${dir}/d/hello.txt`]);
const listed = await sandbox.files.listDirectory({ path: dir, depth: 2 });
assert.deepEqual(listed.map((f) => f.path), [`${dir}/bin`, `${dir}/d`, `${dir}/d/hello.txt`]);
const replaced = await sandbox.files.replaceContentsDetailed([{ path: `${dir}/d/hello.txt`, oldContent: "o", newContent: "0" }]);
assert.equal(replaced[0].replacedCount, 2);
await sandbox.files.moveFiles([{ src: `${dir}/d/hello.txt`, dest: `${dir}/moved.txt` }]);
await assert.rejects(sandbox.files.moveFiles([{ src: `${dir}/moved.txt`, dest: `${dir}/bin` }]), (err) => err.statusCode === 500);
await sandbox.files.setPermissions([{ path: `${dir}/moved.txt`, mode: 600 }]);
await assert.rejects(sandbox.files.readFile(`${dir}/d/hello.txt`), (err) => err.statusCode === 404 && JSON.parse(err.rawBody).code === "FILE_NOT_FOUND");
await sandbox.files.deleteFiles([`${dir}/moved.txt`, `${dir}/bin`]);
await sandbox.files.deleteDirectories([`${dir}/d`]);
assert.deepEqual(await sandbox.files.listDirectory({ path: dir }), []);

const metrics = await sandbox.getMetrics();
assert.ok(metrics.cpuCount > 0 && metrics.memoryTotalMiB > 0 && metrics.timestamp > 0, JSON.stringify(metrics));

const renewed = await sandbox.renew(600);
assert.ok(new Date(renewed.expiresAt) > new Date(info.expiresAt));
const patched = await sandbox.patchMetadata({ team: null, name: "n" });
assert.deepEqual(patched.metadata, { name: "n" });
await assert.rejects(sandbox.patchMetadata({ "opensandbox.io/x": "y" }), (err) => err.error.code === "SANDBOX::INVALID_METADATA_LABEL");

const state = async (want) => {
  while ((await sandbox.getInfo()).status.state !== want) await new Promise((done) => setTimeout(done, 20));
};
await sandbox.pause();
await state("Paused");
await assert.rejects(sandbox.pause(), (err) => err.statusCode === 409);
const resumed = await sandbox.resume({ healthCheckPollingInterval: 50 });
await state("Running");
assert.equal((await resumed.commands.run("echo again")).logs.stdout[0].text, "again");

const manager = SandboxManager.create({ connectionConfig });
const all = await manager.listSandboxInfos({ states: ["Running"], metadata: { name: "n" } });
assert.deepEqual(all.items.map((i) => i.id), [sandbox.id]);
await resumed.kill();
await assert.rejects(sandbox.getInfo(), (err) => err.statusCode === 404 && err.error.code === "DOCKER::SANDBOX_NOT_FOUND");
await Promise.all([sandbox.close(), resumed.close(), manager.close()]);
console.log("all right");
