//! A GPU with all that it needs, or an error: never a processor in its place, unless that was asked for.

use std::{cell::RefCell, time::Duration};

use backend_api::BackendKind;
use pfss::{
    MemoryChannel, PfssError,
    batch::{BatchConfig, BatchError, Choice, OpenError, Opened, Platform, Stager, Streams, SuperBatch},
    memory_pair,
};
use runtime::{AnyQueue, CudaLibrary, Domain, Settings};

use crate::common::{Sim, cpu};

/// A stager on queues of one's choice.
#[derive(Debug)]
struct On(AnyQueue, AnyQueue);

impl Stager<AnyQueue> for On {
    fn upload(&self) -> &AnyQueue {
        &self.0
    }
    fn download(&self) -> &AnyQueue {
        &self.1
    }
}

#[derive(Debug)]
enum Copies {
    Streams(Streams<AnyQueue>),
    On(On),
}

impl Stager<AnyQueue> for Copies {
    fn upload(&self) -> &AnyQueue {
        match self {
            Self::Streams(streams) => streams.upload(),
            Self::On(queues) => queues.upload(),
        }
    }
    fn download(&self) -> &AnyQueue {
        match self {
            Self::Streams(streams) => streams.download(),
            Self::On(queues) => queues.download(),
        }
    }
}

type OpenDevice<'a> = Box<dyn Fn() -> Result<AnyQueue, String> + 'a>;
type MakeStager<'a> = Box<dyn Fn(&AnyQueue) -> Result<Option<Copies>, String> + 'a>;

/// A machine that has what the test says, and notes what it was asked for.
struct Machine<'a> {
    device: OpenDevice<'a>,
    stager: MakeStager<'a>,
    channel: Option<MemoryChannel>,
    asked: RefCell<Vec<&'static str>>,
}

impl Platform for Machine<'_> {
    type Queue = AnyQueue;
    type Stager = Copies;
    type Channel = MemoryChannel;
    type Error = String;

    fn host(&mut self) -> Result<AnyQueue, String> {
        self.asked.borrow_mut().push("host");
        Ok(cpu(None))
    }
    fn device(&mut self) -> Result<AnyQueue, String> {
        self.asked.borrow_mut().push("device");
        (self.device)()
    }
    fn stager(&mut self, q: &AnyQueue) -> Result<Option<Copies>, String> {
        self.asked.borrow_mut().push("stager");
        (self.stager)(q)
    }
    fn channel(&mut self) -> Option<MemoryChannel> {
        self.channel.take()
    }
}

fn machine<'a>(device: impl Fn() -> Result<AnyQueue, String> + 'a) -> Machine<'a> {
    let streams =
        |q: &AnyQueue| Streams::fork(q).map(|streams| Some(Copies::Streams(streams))).map_err(|e| e.to_string());
    let (channel, _) = memory_pair(Duration::from_secs(1));
    Machine { device: Box::new(device), stager: Box::new(streams), channel: Some(channel), asked: RefCell::default() }
}

/// What `runtime` says of a machine without a driver.
fn no_driver() -> Result<AnyQueue, String> {
    let settings = Settings { cuda_library: CudaLibrary::None, ..Settings::default() };
    let opened = runtime::open_with(&settings, Some(Domain::Pfss), Some(runtime::Choice::Gpu));
    opened.map(|(queue, _)| queue).map_err(|error| error.to_string())
}

#[test]
fn a_gpu_is_opened_with_all_it_needs_or_not_at_all() {
    let sim = Sim::new("");
    let gpu = sim.queue(None);
    let device = || Ok(gpu.clone());
    let error = |mut machine: Machine<'_>| {
        let error = Opened::open(Choice::Gpu, &mut machine).unwrap_err();
        assert!(!machine.asked.borrow().contains(&"host"), "{error}: a processor was opened");
        error
    };
    assert!(matches!(error(machine(no_driver)), OpenError::NoDevice { .. }));
    let no_device = || Err("device 3 of 1".into());
    assert_eq!(error(machine(no_device)), OpenError::NoDevice { reason: "device 3 of 1".into() });
    let impostor = || Ok(cpu(None));
    assert_eq!(error(machine(impostor)), OpenError::NotADevice { got: BackendKind::Cpu });
    let none = Machine { stager: Box::new(|_| Ok(None)), ..machine(device) };
    assert_eq!(error(none), OpenError::NoStager { reason: "the program has none".into() });
    let broken = Machine { stager: Box::new(|_| Err("no stream".into())), ..machine(device) };
    assert_eq!(error(broken), OpenError::NoStager { reason: "no stream".into() });
    let stub = Machine { stager: Box::new(|_| Ok(Some(Copies::On(On(cpu(None), cpu(None)))))), ..machine(device) };
    assert!(matches!(error(stub), OpenError::Stager(_)));
    assert_eq!(error(Machine { channel: None, ..machine(device) }), OpenError::NoChannel);

    let mut whole = machine(device);
    let opened = Opened::open(Choice::Gpu, &mut whole).unwrap();
    assert_eq!((opened.requested, opened.active, &opened.fallback), (Choice::Gpu, Choice::Gpu, &None));
    opened.batch(BatchConfig::default()).unwrap();

    let missing = SuperBatch::new(&opened.queue, None, BatchConfig::default()).unwrap_err();
    assert_eq!(missing, BatchError::NoStager { kind: BackendKind::Cuda }.into());
    let stub = On(cpu(None), cpu(None));
    let refused = SuperBatch::new(&opened.queue, Some(&stub), BatchConfig::default()).unwrap_err();
    assert!(matches!(refused, PfssError::Batch(BatchError::ForeignStager { .. })), "{refused}");
}

#[test]
fn auto_takes_the_processor_when_it_opens_and_says_why() {
    let mut without = machine(no_driver);
    let opened = Opened::open(Choice::Auto, &mut without).unwrap();
    assert_eq!((opened.requested, opened.active), (Choice::Auto, Choice::Cpu));
    assert!(matches!(opened.fallback, Some(OpenError::NoDevice { .. })));
    assert!(opened.stager().is_none());
    opened.batch(BatchConfig::default()).unwrap();
    let mut silent = Machine { channel: None, ..machine(no_driver) };
    assert_eq!(Opened::open(Choice::Auto, &mut silent).unwrap_err(), OpenError::NoChannel);
}

#[test]
fn the_processor_is_opened_without_a_look_at_devices() {
    let mut machine = machine(|| Err("never asked".into()));
    let opened = Opened::open(Choice::Cpu, &mut machine).unwrap();
    assert_eq!((opened.active, &opened.fallback), (Choice::Cpu, &None));
    assert_eq!(*machine.asked.borrow(), ["host"]);
}

/// `runtime` reads the variable; both name the choices alike.
#[test]
fn the_names_are_those_of_the_settings() {
    for text in ["cpu", "GPU", "cuda", "auto", "gup", "1"] {
        let theirs = text.parse::<runtime::Choice>().ok().map(|choice| choice.name());
        assert_eq!(text.parse::<Choice>().ok().map(Choice::name), theirs, "{text}");
    }
}
