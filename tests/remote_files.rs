//! Files that a local server serves to root.exe, if XRootD's is installed.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::say;
use support::session::{Session, script};

/// Ended with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Serves `folder`; `None` if there is no xrootd.
    fn start(folder: &Path) -> Option<Server> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (own, settings) = (folder.join("server"), folder.join("server.cfg"));
        fs::create_dir(&own).unwrap();
        let text = format!(
            "xrd.port {port}\nall.export /\noss.localroot {}\nall.adminpath {own}\nall.pidpath {own}\n",
            folder.display(),
            own = own.display()
        );
        fs::write(&settings, text).unwrap();
        let mut command = Command::new("xrootd");
        command.arg("-c").arg(&settings).arg("-l").arg(own.join("log")).env_remove("LD_LIBRARY_PATH");
        // It refuses to serve as root.
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.args(["-R", "nobody"]);
            let open = |path: &Path| Command::new("chmod").args(["-R", "a+rwX"]).arg(path).status();
            assert!(open(folder).unwrap().success());
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let server = Server { child, port };
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "xrootd does not serve: {:?}", fs::read_to_string(own.join("log")));
            thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_that_is_killed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(folder.path()) else {
        return say::not_tested("files over the network: xrootd is not installed (Debian: xrootd-server)");
    };
    let write = format!(".L {}\nwrite_remote(\"events.root\");\n.q\n", script("network.C"));
    Session::root(&[]).typing(&write).within(folder.path()).run();
    // Not 127.0.0.1: ROOT would open files of a server on this machine without it.
    let url = format!("root://127.0.0.2:{}//events.root", server.port);
    let local = folder.path().join("events.root");
    let call = format!("{}(\"{url}\", \"{}\", {})", script("network.C"), local.display(), server.child.id());
    let mut session = Session::root(&["-q", &call]);
    // The client would wait for the server for half an hour.
    for (name, value) in [
        ("XRD_CONNECTIONRETRY", "1"),
        ("XRD_CONNECTIONWINDOW", "2"),
        ("XRD_STREAMERRORWINDOW", "2"),
        ("XRD_REQUESTTIMEOUT", "10"),
    ] {
        session = session.with(name, Path::new(value));
    }
    session.run().passed().show("reader");
}
