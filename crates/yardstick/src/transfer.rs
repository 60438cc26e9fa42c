//! Copies on a device, and between the host and a device, which the bus limits.

use backend_api::{Buffer, Queue as _, Register as _};

use crate::{
    Extent, Line,
    host::{values, words},
    line::RunSize,
};

/// The id of the line that copies with the device's own copy.
///
/// Its rate is the limit for every line that moves bytes.
pub const COPY: &str = "copy";

/// The line [`COPY`].
pub(crate) fn copy(extent: Extent) -> Line {
    let count = match extent {
        Extent::Full => 1 << 28,
        Extent::Small => 1 << 12,
    };
    Line::new(COPY, RunSize::of_bytes(8 * count), move |q| {
        let (x, mut y) = (q.upload(&values::<f32>(count, 4.0))?, q.zeros::<f32>(count)?);
        Ok(Box::new(move |q| Ok(q.copy(x.view(), y.view_mut())?)))
    })
}

pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let count = match extent {
        Extent::Full => 1 << 25,
        Extent::Small => 1 << 12,
    };
    vec![upload(count), upload_registered(count), download(count), download_registered(count)]
}

/// Words that are moved once.
fn moved(count: usize) -> RunSize {
    let bytes = (count * size_of::<u64>()) as f64;
    RunSize::computing("byte", bytes, bytes)
}

fn upload(count: usize) -> Line {
    Line::new(&format!("copy.upload/{count}"), moved(count), move |q| {
        let (host, mut buf) = (words(count, 1), q.zeros::<u64>(count)?);
        Ok(Box::new(move |q| Ok(q.write(&host, buf.view_mut())?)))
    })
}

fn upload_registered(count: usize) -> Line {
    Line::new(&format!("copy.upload.registered/{count}"), moved(count), move |q| {
        let (host, mut buf) = (q.register(words(count, 1))?, q.zeros::<u64>(count)?);
        Ok(Box::new(move |q| Ok(q.write_registered(&host, 0, buf.view_mut())?)))
    })
}

fn download(count: usize) -> Line {
    Line::new(&format!("copy.download/{count}"), moved(count), move |q| {
        let buf = q.upload(&words(count, 1))?;
        Ok(Box::new(move |q| {
            core::hint::black_box(q.read(buf.view())?);
            Ok(())
        }))
    })
}

fn download_registered(count: usize) -> Line {
    Line::new(&format!("copy.download.registered/{count}"), moved(count), move |q| {
        let (mut host, buf) = (q.register(vec![0u64; count])?, q.upload(&words(count, 1))?);
        Ok(Box::new(move |q| Ok(q.read_registered(buf.view(), &mut host, 0)?)))
    })
}
