//! What `trefoil pfss inspect` shows of bundles and of the folders of `gen`.

use std::{
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use inference::folder::hex;
use pfss::KeyBundle;
use serde_json::{Value, json};

use super::folder::{is_used, read_bundle, read_bundles, read_gate, read_peer};

/// Shows the purpose of a bundle.
pub(crate) fn bundle(path: &Path) -> Result<Value> {
    describe(&read_bundle(path)?)
}

/// Shows the purpose of a party's folder.
///
/// Used keys are gone, but their computation is still recorded.
pub(crate) fn folder(path: &Path) -> Result<Value> {
    let (computation, used, peer) = (read_gate(path)?, is_used(path), read_peer(path)?.to_string());
    let name = computation.name();
    writeln!(io::stdout(), "keys     {name}{}", if used { ", used" } else { "" })?;
    writeln!(io::stdout(), "peer     {peer}")?;
    let bundles = if used { Vec::new() } else { read_bundles(path, &computation)? };
    let bundles = bundles.iter().map(describe).collect::<Result<Vec<_>>>()?;
    Ok(json!({"keys": name, "used": used, "peer": peer, "bundles": bundles}))
}

/// Prints the public facts about a bundle and returns them. None of them depends on the keys.
fn describe(bundle: &KeyBundle) -> Result<Value> {
    let mut out = io::stdout().lock();
    let (gate, party, count) = (bundle.gate(), bundle.party().number(), bundle.count());
    let (kind, bits, output_bits) = (gate.kind().to_string(), gate.n(), gate.out_ring().bits());
    let (f, degree, masks) = (gate.f(), gate.degree(), gate.masks());
    writeln!(out, "gate     {kind}, {bits} bits to {output_bits}, f {f}, degree {degree}, masks {masks}")?;
    let mut of_gate = json!({
        "kind": kind, "bits": bits, "output_bits": output_bits, "f": f, "degree": degree, "masks": masks,
    });
    if let Some(program) = gate.program() {
        let (desc, modes, input_bits) = (program.desc(), program.modes(), program.domain().bits());
        let (words, bools, predicates, pieces) = (desc.words(), desc.bools(), desc.preds().len(), desc.pieces().len());
        let modes = [format!("{:?}", modes.preds), format!("{:?}", modes.coeffs), format!("{:?}", modes.bools)];
        writeln!(out, "outputs  words {words:?}, bits {bools:?}")?;
        writeln!(out, "shape    {pieces} pieces, {predicates} predicates, inputs of {input_bits} bits")?;
        writeln!(out, "modes    {}", modes.join(", "))?;
        of_gate["descriptor"] = json!({
            "words": words, "bools": bools, "predicates": predicates, "pieces": pieces, "input_bits": input_bits,
            "modes": modes,
        });
    }
    let (nonce, digest) = (hex(&bundle.nonce()), hex(&gate.digest()));
    writeln!(out, "party    {party}")?;
    writeln!(out, "count    {count}")?;
    writeln!(out, "nonce    {nonce}")?;
    writeln!(out, "digest   {digest} of the gate")?;
    let mut sections = Vec::new();
    for section in bundle.sections() {
        let (name, element, dims, offset) = (section.name, section.element_bytes, section.dims, section.offset);
        let ([a, b, c], bytes) = (dims, section.bytes);
        writeln!(out, "section  {name:20} {bytes:>10} bytes at {offset}: {a} x {b} x {c} of {element}")?;
        sections.push(json!({"name": name, "element_bytes": element, "dims": dims, "offset": offset, "bytes": bytes}));
    }
    // What one element costs this party, and what all cost.
    let cost = gate.cost();
    writeln!(
        out,
        "element  {:.3} bytes of keys, {} AES blocks, {} + {} bits sent, {} rounds",
        cost.key_bits as f64 / 8.0,
        cost.aes,
        cost.input_bits,
        cost.masked_bits,
        cost.rounds
    )?;
    let (bytes, key_bytes) = (bundle.byte_len(), (cost.key_bits * count as u64).div_ceil(8));
    let (aes_blocks, sent_bytes) = (cost.aes * count as u64, gate.traffic(count).0);
    writeln!(
        out,
        "total    {bytes} bytes, {key_bytes} of them keys; {aes_blocks} AES blocks, {sent_bytes} bytes sent"
    )?;
    Ok(json!({
        "party": party, "gate": of_gate, "count": count, "nonce": nonce, "gate_digest": digest, "bytes": bytes,
        "sections": sections,
        "element": {
            "key_bits": cost.key_bits, "aes_blocks": cost.aes, "input_bits": cost.input_bits,
            "masked_bits": cost.masked_bits, "rounds": cost.rounds,
        },
        "total": {"key_bytes": key_bytes, "aes_blocks": aes_blocks, "sent_bytes": sent_bytes},
    }))
}
