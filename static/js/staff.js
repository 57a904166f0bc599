// The pages of staff show times of their zone: the server reads it from this cookie (apps/http/staff_zone.py).
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zone && !document.cookie.split('; ').includes(`zone=${zone}`)) {
  const secure = location.protocol === 'https:' ? '; secure' : ''
  document.cookie = `zone=${zone}; path=/admin/; max-age=31536000; samesite=lax${secure}`
}

// The queue of reports: j and k go down and up in the list, and from report to report.
addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input:not([type=checkbox]), textarea, select')
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !['j', 'k'].includes(event.key)) return
  const step = event.key === 'j' ? 1 : -1
  const cases = [...document.querySelectorAll('.open-case')]
  if (cases.length) {
    const here = cases.indexOf(document.activeElement)
    cases[Math.min(Math.max(here + step, 0), cases.length - 1)].focus()
  } else {
    document.querySelector(`.case-ways [rel=${step > 0 ? 'next' : 'prev'}]`)?.click()
  }
})
