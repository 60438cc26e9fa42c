//! One party of the private digits demo, in a process of its own.
//!
//! Its folder holds what the dealer and the data owner gave to this party alone: a share of the images, two key bundles,
//! and the public network. It writes its shares of every intermediate value back, and nothing before all of them exist.

use std::{
    fs,
    io::{self, Write as _},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use inference::{FRACTION_BITS, digits::PIXELS};
use nn_ops::io::{NpyArray, read_npy, write_npy};
use pfss::{KeyBundle, Party, Session, SignedRange, TcpChannel, TcpOptions};
use runtime::{Choice, Domain};
use serde::{Deserialize, Serialize};

use super::fixed_point::Network;

/// What the two processes agree to compute; a peer with another digest is refused.
const PROTOCOL: [u8; 32] = *b"trefoil private digits, 64-64-10";

/// Play one party of the private digits demo; started by `trefoil demo`.
#[derive(Args, Debug)]
pub(crate) struct PartyArgs {
    /// This party's folder.
    #[arg(long)]
    pub(crate) folder: PathBuf,
    /// 0 listens and prints its address, 1 connects.
    #[arg(long)]
    pub(crate) number: u8,
    /// Address of party 0; only for party 1.
    #[arg(long)]
    pub(crate) peer: Option<SocketAddr>,
    /// Backend of this party.
    #[arg(long)]
    pub(crate) backend: Option<Choice>,
}

/// What one party measured.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Measured {
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) rounds: u64,
    pub(crate) seconds: Vec<(String, f64)>,
}

/// Runs the command.
pub(crate) fn run(args: &PartyArgs) -> Result<()> {
    let party = Party::try_from(args.number)?;
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let folder = &args.folder;
    let network = Network::read(&folder.join("network.safetensors"))?;
    let images = read_shares(&folder.join("images.npy"))?;
    ensure!(images.len().is_multiple_of(PIXELS), "{} words are no whole number of images", images.len());
    let bundle = |name: &str| -> Result<KeyBundle> {
        let path = folder.join(name);
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        KeyBundle::from_bytes(&bytes).with_context(|| format!("parsing {}", path.display()))
    };
    let (truncate, relu) = (bundle("truncate.pfk")?, bundle("relu.pfk")?);

    let options = TcpOptions::new(PROTOCOL);
    let channel = match args.peer {
        Some(address) => TcpChannel::connect(party, address, &options)?,
        None => {
            let listener = TcpListener::bind(("127.0.0.1", 0)).context("listening on the loopback address")?;
            let mut out = io::stdout().lock();
            writeln!(out, "{}", listener.local_addr()?)?;
            out.flush()?;
            TcpChannel::accept(party, &listener, &options)?
        }
    };
    let mut session = Session::new(channel);
    let mut seconds = Vec::new();
    let mut last = Instant::now();
    let mut lap = |step: &str| {
        seconds.push((step.to_owned(), last.elapsed().as_secs_f64()));
        last = Instant::now();
    };

    let adds_bias = party == Party::Zero;
    let linear = network.hidden.apply(&images, adds_bias);
    lap("dense layer on shares");
    let bound = i64::try_from(network.linear_bound()).context("the network's range exceeds 64 bits")?;
    let cert = SignedRange::new(-bound, bound)?.gap_cert(64)?;
    let truncated = session.gap_ars(&q, cert, truncate, &linear)?;
    lap(&format!("truncation by {FRACTION_BITS} bits"));
    let activated = session.relu(&q, relu, &truncated)?;
    lap("ReLU");
    let logits = network.output.apply(&activated, adds_bias);
    lap("output layer on shares");

    for (name, shares) in [("linear", linear), ("truncated", truncated), ("activated", activated), ("logits", logits)] {
        write_shares(&folder.join(format!("{name}.npy")), &shares)?;
    }
    let traffic = session.traffic();
    let measured = Measured {
        sent_bytes: traffic.sent_bytes,
        received_bytes: traffic.received_bytes,
        rounds: traffic.rounds,
        seconds,
    };
    let path = folder.join("measured.json");
    fs::write(&path, serde_json::to_vec(&measured)?).with_context(|| format!("writing {}", path.display()))
}

/// Reads a vector of ring words.
pub(crate) fn read_shares(path: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(read_npy::<u64>(&bytes).with_context(|| format!("parsing {}", path.display()))?.data)
}

/// Writes a vector of ring words.
pub(crate) fn write_shares(path: &Path, shares: &[u64]) -> Result<()> {
    let array = NpyArray { shape: vec![shares.len()], data: shares.to_vec() };
    fs::write(path, write_npy(&array)?).with_context(|| format!("writing {}", path.display()))
}
