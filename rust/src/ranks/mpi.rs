//! MPI's library, found and opened at run time: point-to-point messages between the processes of one job.
//!
//! Open MPI and MPICH (with the libraries that keep its binary interface: Intel MPI, Cray, MVAPICH) differ in what a communicator
//! and a type are: addresses of global objects, or numbers (`mpi.h` of each). Both fit into an integer register.

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::error::{Error, Result};
use crate::kernels::Scalar;

/// Calls may come from any thread, one at a time (MPI 4.0, 11.6.2).
const SERIALIZED: c_int = 2;
/// Tags of messages: of numbers, and of a process that ends.
const NUMBERS: c_int = 1;
const FAREWELL: c_int = 2;
/// Polls before other processes may have the processor.
const FEW: u64 = 1 << 7;
/// Wait after which this process sleeps between two polls: the others do something else than steps.
const BUSY: Duration = Duration::from_millis(4);
const NAP: Duration = Duration::from_micros(50);
/// Time between two looks for processes that have ended.
const LOOK: Duration = Duration::from_millis(10);
/// Polls for what a process sent before it ended.
const LAST_POLLS: u64 = 1 << 12;
/// Most bytes of a message: its count is an `int`.
pub const MOST_BYTES: usize = 1 << 30;

/// Set before the job is ended early, which runs [`leave`] with some implementations.
static ENDS_EARLY: AtomicBool = AtomicBool::new(false);

/// A request: an address with Open MPI, an `int` with MPICH.
type Request = u64;

/// `MPI_Isend` and `MPI_Irecv`: buffer, count, type, the other process, tag, communicator, request.
type Transfer = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut Request) -> c_int;

#[derive(Clone, Copy)]
struct Functions {
    init: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    is_initialized: unsafe extern "C" fn(*mut c_int) -> c_int,
    thread_level: unsafe extern "C" fn(*mut c_int) -> c_int,
    duplicate: unsafe extern "C" fn(usize, *mut usize) -> c_int,
    set_handler: unsafe extern "C" fn(usize, usize) -> c_int,
    is_finalized: unsafe extern "C" fn(*mut c_int) -> c_int,
    rank: unsafe extern "C" fn(usize, *mut c_int) -> c_int,
    size: unsafe extern "C" fn(usize, *mut c_int) -> c_int,
    send: Transfer,
    receive: Transfer,
    test: unsafe extern "C" fn(*mut Request, *mut c_int, usize) -> c_int,
    probe: unsafe extern "C" fn(c_int, c_int, usize, *mut c_int, usize) -> c_int,
    abort: unsafe extern "C" fn(usize, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
}

/// The library, initialised.
pub struct Mpi {
    functions: Functions,
    /// All processes, in a communicator of our own, which receives no other messages.
    world: usize,
    byte: usize,
    /// `MPI_STATUS_IGNORE`
    no_status: usize,
    /// This process, from 0 on.
    pub rank: usize,
    /// Processes of the job.
    pub size: usize,
    /// One call at a time.
    turn: Mutex<()>,
}

/// The job's library, opened once; `None` outside of a job.
pub fn open() -> Result<Option<&'static Mpi>> {
    static OPENED: OnceLock<std::result::Result<Option<Mpi>, String>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| match is_job() {
        true => Mpi::new().map(Some),
        false => Ok(None),
    });
    match opened {
        Ok(mpi) => Ok(mpi.as_ref()),
        Err(why) => Err(Error::invalid(
            format!("MPI cannot be used: {why}"),
            "name the library libmpi.so of the mpirun that started this job in CLADTORCH_MPI",
        )),
    }
}

/// Whether a launcher of MPI (Open MPI's, PMIx, MPICH's and SLURM's) started this process.
fn is_job() -> bool {
    ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Where the library may be: as the user says, in the prefix of the `mpirun` that is found first, where the system looks.
fn candidates() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("CLADTORCH_MPI") {
        return vec![path.into()];
    }
    let is_open = std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some();
    let (open, mpich) = (["libmpi.so.40"], ["libmpi.so.12", "libmpich.so.12"]); // Debian's has the other name
    let names: Vec<&str> = if is_open { [&open[..], &mpich].concat() } else { [&mpich[..], &open].concat() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let prefix = std::env::split_paths(&path).find(|folder| folder.join("mpirun").exists());
    let library = prefix.and_then(|bin| Some(bin.parent()?.join("lib")));
    let beside = names.iter().filter_map(|name| Some(library.as_ref()?.join(name)).filter(|path| path.exists()));
    beside.chain(names.iter().map(PathBuf::from)).collect()
}

impl Mpi {
    fn new() -> std::result::Result<Self, String> {
        let mut failures = Vec::new();
        for path in candidates() {
            // SAFETY: opening MPI runs its initialisers, as linking to it would.
            match unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
                Ok(library) => return Mpi::of(&*Box::leak(Box::new(library))),
                Err(error) => failures.push(format!("{}: {}", path.display(), reason(&error))),
            }
        }
        Err(failures.join("; "))
    }

    fn of(library: &'static Library) -> std::result::Result<Self, String> {
        let functions = Functions::of(library)?;
        let object = |name: &str| {
            // SAFETY: only the address of the object is taken.
            unsafe { library.get::<*mut c_void>(name.as_bytes()) }.map(|symbol| symbol.into_raw() as usize)
        };
        let open = ["ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_errors_are_fatal"].map(object);
        let (world, byte, fatal, no_status) = match open {
            [Ok(world), Ok(byte), Ok(fatal)] => (world, byte, fatal, 0),
            _ => (0x4400_0000, 0x4c00_010d, 0x5400_0000, 1), // MPICH's mpi.h
        };
        let mut mpi = Mpi { functions, world, byte, no_status, rank: 0, size: 1, turn: Mutex::new(()) };
        mpi.initialise(fatal)?;
        Ok(mpi)
    }

    /// `fatal`: the handler that ends the job at an error, which another user of MPI may have changed.
    fn initialise(&mut self, fatal: usize) -> std::result::Result<(), String> {
        unsafe extern "C" {
            fn atexit(function: extern "C" fn()) -> c_int;
        }
        let (mut flag, mut level, mut rank, mut size) = (0, SERIALIZED, 0, 0);
        let f = &self.functions;
        // SAFETY: the functions are MPI's, in the order that it wants, and the numbers are this function's.
        unsafe {
            (f.is_initialized)(&mut flag);
            if flag == 0 {
                if (f.init)(null_mut(), null_mut(), SERIALIZED, &mut level) != 0 {
                    return Err("MPI_Init_thread failed".into());
                }
                atexit(leave);
            } else {
                (f.thread_level)(&mut level);
            }
            let mut own = 0;
            if (f.duplicate)(self.world, &mut own) != 0 || (f.set_handler)(own, fatal) != 0 {
                return Err("MPI_Comm_dup failed".into());
            }
            self.world = own;
            (f.rank)(self.world, &mut rank);
            (f.size)(self.world, &mut size);
        }
        if level < SERIALIZED {
            return Err("the library allows calls from one thread only".into());
        }
        let number = |number: c_int| usize::try_from(number).map_err(|_| format!("a number of processes of {number}"));
        (self.rank, self.size) = (number(rank)?, number(size)?);
        Ok(())
    }

    /// Sends `to` to `rank` and receives as many numbers as `from` has from it; none: no message. If that process has
    /// ended, or nothing comes from it for `limit`, the job ends with a message that names it.
    pub fn swap<T: Scalar>(&self, rank: usize, to: &[T], from: &mut [T], limit: Duration) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let Functions { send, receive, .. } = self.functions;
        let begin = |transfer, address, bytes| (bytes > 0).then(|| self.begin(transfer, address, bytes, rank, NUMBERS));
        let receiving = begin(receive, from.as_mut_ptr().cast(), size_of_val(from));
        // Sending reads only.
        let sending = begin(send, to.as_ptr().cast_mut().cast(), size_of_val(to));
        self.wait(rank, [receiving, sending], limit);
    }

    /// Begins to send or receive; the memory must stay until the request is done, or the process ends.
    fn begin(&self, transfer: Transfer, address: *mut c_void, bytes: usize, rank: usize, tag: c_int) -> Request {
        assert!(bytes <= MOST_BYTES, "a message of {bytes} bytes");
        let mut request = 0;
        // SAFETY: the caller keeps the memory of so many bytes; the other arguments are MPI's own and small.
        let code =
            unsafe { transfer(address, bytes as c_int, self.byte, rank as c_int, tag, self.world, &mut request) };
        assert!(code == 0, "MPI's error {code}"); // never: errors end the job
        request
    }

    /// Waits for all requests to `rank`. It never returns before: they read and write the caller's memory.
    fn wait(&self, rank: usize, mut open: [Option<Request>; 2], limit: Duration) {
        let mut are_done = || {
            for request in &mut open {
                if request.as_mut().is_some_and(|request| self.is_done(request)) {
                    *request = None;
                }
            }
            open.iter().all(Option::is_none)
        };
        let (start, mut looked) = (Instant::now(), Duration::ZERO);
        if (0..FEW).any(|_| are_done()) {
            return;
        }
        while !are_done() {
            let waited = start.elapsed();
            if waited > looked + LOOK {
                looked = waited;
                // What it sent before it ended has come before its farewell, and may not have been taken yet.
                if self.has_ended(rank) && !(0..LAST_POLLS).any(|_| are_done()) {
                    self.give_up(rank, "has ended, and the others wait for it");
                }
                if waited > limit {
                    let seconds = limit.as_secs();
                    self.give_up(rank, &format!("has sent nothing for {seconds} s, and the others wait for it"));
                }
            }
            match waited < BUSY {
                true => std::thread::yield_now(), // there may be more processes than processors
                false => std::thread::sleep(NAP),
            }
        }
    }

    fn is_done(&self, request: &mut Request) -> bool {
        let mut flag = 0;
        // SAFETY: a request of `begin`.
        unsafe { (self.functions.test)(request, &mut flag, self.no_status) };
        flag != 0
    }

    fn has_ended(&self, rank: usize) -> bool {
        let mut flag = 0;
        // SAFETY: it only looks.
        unsafe { (self.functions.probe)(rank as c_int, FAREWELL, self.world, &mut flag, self.no_status) };
        flag != 0
    }

    /// Ends the job because of another process; the first of the others says so, unless it is late.
    fn give_up(&self, rank: usize, what: &str) -> ! {
        let speaker = usize::from(rank == 0);
        if self.rank != speaker {
            std::thread::sleep(Duration::from_secs(1));
        }
        eprintln!("CladTorch: rank {rank} of {} {what}: the job ends", self.size);
        self.abort()
    }

    /// Ends all processes of the job.
    pub fn abort(&self) -> ! {
        ENDS_EARLY.store(true, Ordering::SeqCst);
        // A launcher that is told to end may throw away what it has not yet read of the message.
        std::thread::sleep(Duration::from_millis(300));
        // SAFETY: allowed at any time after the initialisation.
        unsafe { (self.functions.abort)(self.world, 1) };
        std::process::abort()
    }

    /// Tells the others that this process ends, and waits until they do, too: MPI ends together.
    fn leave(&self) {
        let others = (0..self.size).filter(|&rank| rank != self.rank);
        let (mut word, mut words) = ([1u8], vec![0u8; self.size]);
        let mut open = Vec::new();
        for (rank, room) in others.clone().zip(&mut words) {
            open.push((rank, self.begin(self.functions.receive, std::ptr::from_mut(room).cast(), 1, rank, FAREWELL)));
        }
        for rank in others {
            open.push((rank, self.begin(self.functions.send, word.as_mut_ptr().cast(), 1, rank, FAREWELL)));
        }
        while !open.is_empty() {
            open.retain_mut(|(_, request)| !self.is_done(request));
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut flag = 0;
        // SAFETY: all messages have come; MPI may be ended once.
        unsafe {
            (self.functions.is_finalized)(&mut flag);
            if flag == 0 {
                (self.functions.finalize)();
            }
        }
    }
}

/// The dynamic linker's message, which is the source of the error.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// At the end of the process.
extern "C" fn leave() {
    if let (false, Ok(Some(mpi))) = (ENDS_EARLY.load(Ordering::SeqCst), open()) {
        mpi.leave();
    }
}

impl Functions {
    fn of(library: &Library) -> std::result::Result<Self, String> {
        /// One of them.
        fn found<F: Copy>(library: &Library, name: &str) -> std::result::Result<F, String> {
            // SAFETY: the types in `Functions` are those of the standard, with handles as wide as a register.
            unsafe { library.get::<F>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|error| error.to_string())
        }
        Ok(Functions {
            init: found(library, "MPI_Init_thread")?,
            is_initialized: found(library, "MPI_Initialized")?,
            thread_level: found(library, "MPI_Query_thread")?,
            duplicate: found(library, "MPI_Comm_dup")?,
            set_handler: found(library, "MPI_Comm_set_errhandler")?,
            is_finalized: found(library, "MPI_Finalized")?,
            rank: found(library, "MPI_Comm_rank")?,
            size: found(library, "MPI_Comm_size")?,
            send: found(library, "MPI_Isend")?,
            receive: found(library, "MPI_Irecv")?,
            test: found(library, "MPI_Test")?,
            probe: found(library, "MPI_Iprobe")?,
            abort: found(library, "MPI_Abort")?,
            finalize: found(library, "MPI_Finalize")?,
        })
    }
}
