//! A crowd that keeps a listener busy, and never proves anything.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use inference::tls::Identity;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::thief::Thief;

/// Time between two looks at every stranger.
const LOOK: Duration = Duration::from_millis(10);

/// How many come between two such looks: fewer than a listener keeps waiting, since who finds its queue full tries again
/// only after a second.
const QUEUE: usize = 64;

/// Strangers that reconnect as soon as they are dropped.
///
/// Half of them send nothing, four in ten send a byte a second, and the rest a whole ClientHello and no more.
pub(crate) struct Strangers {
    hello: Vec<u8>,
    address: SocketAddr,
    count: usize,
}

#[derive(PartialEq)]
enum StrangerKind {
    Silent,
    Slow,
    HalfDone,
}

impl StrangerKind {
    fn of(index: usize) -> Self {
        match index % 10 {
            0..5 => Self::Silent,
            5..9 => Self::Slow,
            _ => Self::HalfDone,
        }
    }
}

impl Strangers {
    pub(crate) fn new(address: SocketAddr, count: usize) -> Self {
        let identity = Identity::generate().unwrap();
        Self { hello: Thief::new(&identity, &identity).hello(), address, count }
    }

    /// Connects all of them, sets `all_there`, and keeps them connected.
    ///
    /// Ends at `stop`, or when the listener is closed.
    pub(crate) fn besiege(&self, all_there: &AtomicBool, stop: &AtomicBool) {
        let (mut strangers, mut came) = (Vec::new(), 0);
        let mut come = |index| {
            came += 1;
            if came % QUEUE == 0 {
                thread::sleep(LOOK);
            }
            self.come(index)
        };
        for index in 0..self.count {
            strangers.push((come(index).unwrap(), 0));
        }
        all_there.store(true, Ordering::Relaxed);
        let start = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let seconds = start.elapsed().as_secs();
            for (index, (stream, said)) in strangers.iter_mut().enumerate() {
                let dropped = match stream.read(&mut [0; 4096]) {
                    Ok(read) => read == 0,
                    Err(e) => e.kind() != ErrorKind::WouldBlock,
                };
                if dropped {
                    let Ok(again) = come(index) else { return };
                    (*stream, *said) = (again, seconds);
                } else if StrangerKind::of(index) == StrangerKind::Slow && *said < seconds {
                    *said = seconds;
                    let _ = stream.write(&self.hello[1..2]); // whether it was dropped shows when it is read from
                }
            }
            thread::sleep(LOOK);
        }
    }

    fn come(&self, index: usize) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(match StrangerKind::of(index) {
            StrangerKind::Silent => &[],
            StrangerKind::Slow => &self.hello[..1],
            StrangerKind::HalfDone => &self.hello,
        })?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }
}

/// Raises this process's limit of open files to at least `count`.
pub(crate) fn allow_files(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= count);
    if !enough(limit.current) {
        assert!(enough(limit.maximum), "this test opens {count} files, the system allows {:?}", limit.maximum);
        setrlimit(Resource::Nofile, Rlimit { current: Some(count), ..limit }).unwrap();
    }
}
