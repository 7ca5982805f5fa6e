//! Demands that cannot both be met. Whoever writes them has made a mistake, and would learn of it from the first build
//! that fails for no reason.

use super::Size;
use super::error::PolicyError;
use super::resolve::Resolver;
use super::syntax::{Archs, List, Sizes};
use crate::check::coverage::{allows, may_run_on};

type Result<T> = std::result::Result<T, PolicyError>;

/// Among the architectures for one set of files.
pub fn archs(resolver: &Resolver<'_>, archs: &Archs) -> Result<()> {
    let targets = |list: &Option<List>| list.as_ref().map(|list| resolver.targets(list)).transpose();
    let (forbid, only) = (targets(&archs.forbid)?.unwrap_or_default(), targets(&archs.only)?);
    for text in archs.require.iter().flat_map(|list| list.get_ref()) {
        let target = resolver.target(text)?;
        if forbid.iter().any(|forbidden| allows(forbidden, &target)) {
            return resolver.error(text.span(), format!("{target} is required and forbidden"));
        }
        if only.as_ref().is_some_and(|only| !only.iter().any(|allowed| allows(allowed, &target))) {
            return resolver.error(text.span(), format!("{target} is required and not among the only ones allowed"));
        }
    }
    for text in archs.only.iter().flat_map(|list| list.get_ref()) {
        let target = resolver.target(text)?;
        if forbid.contains(&target) {
            return resolver.error(text.span(), format!("{target} is allowed and forbidden"));
        }
    }
    let fallback = archs.ptx_fallback.is_some();
    for text in archs.devices.iter().flat_map(|list| list.get_ref()) {
        let device = resolver.target(text)?;
        if only.as_ref().is_some_and(|only| !only.iter().any(|code| may_run_on(code, &device, fallback))) {
            let what = format!("nothing that may be there (only) runs on {device}");
            return resolver.error(text.span(), what);
        }
    }
    Ok(())
}

/// Between sizes: a part may not take more than the whole.
pub fn sizes(resolver: &Resolver<'_>, sizes: &Sizes) -> Result<()> {
    let (total, file) = (resolver.size(sizes.total.as_ref())?, resolver.size(sizes.file.as_ref())?);
    let more = |size: Size, whole: Size, name: &str| format!("{size} is more than {name} allows, {whole}");
    if let (Some(written), Some(size), Some(total)) = (&sizes.file, file, total)
        && size > total
    {
        return resolver.error(written.span(), more(size, total, "total"));
    }
    for written in sizes.arch.iter().flatten().map(|(_, size)| size) {
        let wholes = [(file, "file"), (total, "total")];
        for (whole, name) in wholes.into_iter().filter_map(|(whole, name)| Some((whole?, name))) {
            if let Some(size) = resolver.size(Some(written))?.filter(|size| *size > whole) {
                return resolver.error(written.span(), more(size, whole, name));
            }
        }
    }
    Ok(())
}
