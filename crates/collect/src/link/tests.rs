//! Links between real processes, and on fake roots where the machine cannot show them.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::os::unix::fs::symlink;

use lowtide_testkit::{Child, FakeProcess, FakeRoot};

use super::*;

const PYTHON: &str = "/usr/bin/python3";

/// A server for `family` that forks a worker when it is asked to, and a client that hangs up when told.
const SERVER: &str = "
import os, socket, sys
family, address = sys.argv[1], sys.argv[2]
listener = socket.socket(getattr(socket, family))
listener.bind(address if family == 'AF_UNIX' else ('127.0.0.1', 0))
listener.listen()
print('ready', flush=True)
print('at', listener.getsockname() if family == 'AF_UNIX' else listener.getsockname()[1], flush=True)
talk, _ = listener.accept()
worker = os.fork()
if worker == 0:
    listener.close(); talk.close()
    print('worker', os.getpid(), flush=True)
    os.read(0, 1)
    os._exit(0)
talk.recv(1)
talk.close()
print('over', flush=True)
os.read(0, 1)
";
const CLIENT: &str = "
import os, socket, sys
family, address = sys.argv[1], sys.argv[2]
talk = socket.socket(getattr(socket, family))
talk.connect(address if family == 'AF_UNIX' else ('127.0.0.1', int(address)))
print('ready', flush=True)
sys.stdin.readline()
talk.close()
sys.stdin.readline()
";

fn python(program: &str, family: &str, address: &str) -> Child {
    Child::start(std::process::Command::new(PYTHON).args(["-u", "-c", program, family, address]))
}

fn have_python() -> bool {
    std::process::Command::new(PYTHON).args(["-c", "pass"]).status().is_ok_and(|status| status.success())
}

struct Bench {
    root: Root,
    links: Links,
    target: u32,
    now_s: f64,
    scratch: Scratch,
}

impl Bench {
    fn new(root: &Root, target: u32) -> Self {
        let mut scratch = Scratch::default();
        Self { links: Links::new(root, target, &mut scratch), root: root.clone(), target, now_s: 0.0, scratch }
    }

    fn look(&mut self) {
        // Long after the last look, so that no budget is in the way.
        self.now_s += 1e4;
        self.links.look(&self.root, self.now_s, std::iter::once(self.target));
    }

    fn prove(&mut self, suspect: u32) -> Option<String> {
        let target = self.target;
        self.links.prove(&self.root, self.now_s, &[suspect], |pid| pid == target, &mut self.scratch).remove(0)
    }
}

/// The proofs for the server and its worker while the client is connected, and for the worker after that.
fn proofs(family: &str, address: &str) -> [Option<String>; 3] {
    let mut server = python(SERVER, family, address);
    let address = server.wait_for("at");
    let stranger = Child::shell("echo ready; read line");
    let mut client = python(CLIENT, family, &address);
    let worker: u32 = server.wait_for("worker").parse().unwrap();
    let mut bench = Bench::new(&Root::new("/".as_ref()), client.pid());
    bench.look();
    let connected = [bench.prove(server.pid()), bench.prove(worker)];
    assert_eq!(bench.prove(stranger.pid()), None);
    client.say("hang up");
    server.wait_for("over");
    bench.look();
    let [first, second] = connected;
    [first, second, bench.prove(worker)]
}

#[test]
fn a_server_on_a_unix_socket_and_its_worker() {
    let folder = tempfile::tempdir().unwrap();
    let address = folder.path().join("job.socket");
    if !have_python() || !unix_peers_are_told() {
        return;
    }
    let [server, worker, earlier] = proofs("AF_UNIX", address.to_str().unwrap());
    assert!(server.as_ref().is_some_and(|text| text.starts_with("connected to pid ")), "{server:?}");
    let worker = worker.unwrap();
    assert!(worker.starts_with("its parent, pid ") && worker.ends_with("of the run by a Unix socket"), "{worker}");
    let earlier = earlier.unwrap();
    assert!(earlier.contains("was connected to the Unix socket") && earlier.contains("job.socket"), "{earlier}");
}

#[test]
fn a_server_on_loopback_and_its_worker() {
    if !have_python() {
        return;
    }
    let [server, worker, earlier] = proofs("AF_INET", "");
    assert!(server.as_ref().is_some_and(|text| text.contains("of the run by TCP (127.0.0.1:")), "{server:?}");
    assert!(worker.as_ref().is_some_and(|text| text.starts_with("its parent, pid ")), "{worker:?}");
    assert!(earlier.as_ref().is_some_and(|text| text.contains("was connected to 127.0.0.1:")), "{earlier:?}");
}

/// A run (100) below a shell (50), a stranger (300) with a parent (200).
fn fake() -> FakeRoot {
    let root = FakeRoot::new();
    for (pid, parent) in [(50, 1), (100, 50), (200, 1), (300, 200)] {
        root.set(&FakeProcess::new(pid, parent, 10.0, "/usr/bin/python3 some.py"));
        std::fs::create_dir_all(root.path().join(format!("proc/{pid}/fd"))).unwrap();
    }
    root
}

fn open(root: &FakeRoot, pid: u32, fd: u32, link: &str) {
    symlink(link, root.path().join(format!("proc/{pid}/fd/{fd}"))).unwrap();
}

/// One look, then the proof for the stranger.
fn proof(root: &FakeRoot) -> Option<String> {
    let mut bench = Bench::new(&Root::new(root.path()), 100);
    bench.look();
    bench.prove(300)
}

#[test]
fn a_pipe_counts_unless_it_is_inherited_or_standard_output() {
    let root = fake();
    for pid in [50, 100, 300] {
        open(&root, pid, 3, "pipe:[77]");
    }
    for pid in [100, 300] {
        open(&root, pid, 1, "pipe:[88]");
    }
    assert_eq!(proof(&root), None, "the shell gave the one to both; the other is a common output");
    open(&root, 100, 9, "pipe:[99]");
    open(&root, 200, 0, "pipe:[99]");
    assert_eq!(proof(&root).unwrap(), "its parent, pid 200, shares a pipe with pid 100 of the run");
}

const LOCAL: &str = "0100007F:9C40 0100007F:1F90";
const MIRRORED: &str = "0100007F:1F90 0100007F:9C40";

fn tcp_line(addresses: &str, state: &str, inode: u32) -> String {
    format!("   0: {addresses} {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1\n")
}

#[cfg(target_endian = "little")]
#[test]
fn loopback_of_another_network_is_another_place() {
    let root = fake();
    open(&root, 100, 5, "socket:[11]");
    open(&root, 300, 5, "socket:[22]");
    let table = tcp_line(LOCAL, "01", 11) + &tcp_line(MIRRORED, "01", 22);
    for pid in [100, 300] {
        root.write(&format!("proc/{pid}/net/tcp"), &table);
        std::fs::create_dir_all(root.path().join(format!("proc/{pid}/ns"))).unwrap();
    }
    let net = |pid: u32, name: &str| symlink(name, root.path().join(format!("proc/{pid}/ns/net"))).unwrap();
    net(100, "net:[1]");
    net(300, "net:[2]");
    assert_eq!(proof(&root), None);
    root.remove_path("proc/300/ns/net");
    net(300, "net:[1]");
    assert_eq!(proof(&root).unwrap(), "connected to pid 100 of the run by TCP (127.0.0.1:8080)");
}

#[cfg(target_endian = "little")]
#[test]
fn a_port_elsewhere_is_not_the_same_port_here() {
    let root = fake();
    open(&root, 100, 5, "socket:[11]");
    open(&root, 300, 5, "socket:[22]");
    let (far, listens) = ("0100000A:9C40 08080808:1F90", tcp_line("00000000:1F90 00000000:0000", "0A", 22));
    for pid in [100, 300] {
        root.write(&format!("proc/{pid}/net/tcp"), &(tcp_line(far, "01", 11) + &listens));
    }
    assert_eq!(proof(&root), None, "the run talks to 8.8.8.8:8080, the stranger listens on port 8080 here");
    for pid in [100, 300] {
        root.write(&format!("proc/{pid}/net/tcp"), &(tcp_line(LOCAL, "01", 11) + &listens));
    }
    assert_eq!(proof(&root).unwrap(), "pid 100 of the run was connected to 127.0.0.1:8080, where it listens");
}

#[test]
fn foreign_names_are_fit_for_a_terminal() {
    let name = |name: &[u8]| shown(&UnixName { name: name.to_vec(), file: None });
    assert_eq!(name(b"\0ray\0\x1b[2J"), "@ray  [2J");
    assert_eq!(name(&b"/x".repeat(999)).len(), 108);
}
