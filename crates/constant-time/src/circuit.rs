//! Gates in a row, joined by masked outputs.

use anyhow::Result;
use cpu_backend::CpuQueue;
use pfss::{Gate, Inputs, Task};

use crate::{
    Check, deal,
    gates::{suf, suf_modes},
    plain::{COUNT, RING, expect, plaintexts},
    sessions::{both, split},
};

pub(crate) fn checks() -> Vec<Check> {
    vec![Check::clean("session: a circuit of relu, shift, and a descriptor with its own wire", circuit)]
}

fn circuit(q: &CpuQueue) -> Result<()> {
    let mut dealer = deal::dealer();
    let relu = Gate::relu(64)?.with_masked_outputs()?;
    let (relu_keys, wires) = dealer.deal_wired(q, &relu, Inputs::Fresh(COUNT))?;
    let (shift_keys, _) = dealer.deal_wired(q, &Gate::ars(64, 12)?, Inputs::Open(&[&wires[0]]))?;
    let narrow = Gate::lrs(20, 3)?.with_masked_outputs()?;
    let (narrow_keys, wires) = dealer.deal_wired(q, &narrow, Inputs::Fresh(COUNT))?;
    let select = suf(suf_modes()[0])?.with_masked_outputs()?;
    let (select_keys, _) = dealer.deal_wired(q, &select, Inputs::Open(&[&wires[0]]))?;
    let [[relu_0, relu_1], [shift_0, shift_1]] = [relu_keys, shift_keys];
    let [[narrow_0, narrow_1], [select_0, select_1]] = [narrow_keys, select_keys];
    let keys = [(relu_0, shift_0, narrow_0, select_0), (relu_1, shift_1, narrow_1, select_1)];
    let [zero, one] = keys;
    let shares = both(zero, one, split(&plaintexts()), |session, (first, shift, second, select), x| {
        let shares = session.run(q, Task::Relu, first, x)?.words;
        let y_hat = session.open_outputs(q, &relu, &shares)?;
        let shifted = session.eval(q, Task::Ars, shift.with_open_inputs()?, &y_hat)?.words;
        let shares = session.run(q, Task::Lrs, second, x)?.words;
        let y_hat = session.open_outputs(q, &narrow, &shares)?;
        session.eval(q, Task::Suf, select.with_open_inputs()?, &y_hat)?;
        Ok(shifted)
    })?;
    expect(RING, &shares, &plaintexts().map(|x| (x.max(0) >> 12).cast_unsigned()))
}
