-- Each request picks one of the lines of a file at random: METHOD path header-name header-value. At the end one line of JSON.
local lines = {}
local answers, bytes = 0, 0

function init(args)
   math.randomseed(os.time())
   for line in io.lines(args[1]) do
      local method, path, name, value = line:match("^(%S+) (%S+) (%S+) (.*)$")
      lines[#lines + 1] = wrk.format(method, path, { [name] = value, Host = args[2] })
   end
end

function request()
   return lines[math.random(#lines)]
end

function done(summary, latency, _requests)
   local errors = summary.errors
   io.write(string.format(
      '{"requests": %d, "microseconds": %d, "bytes": %d, "p50": %d, "p95": %d, "p99": %d, "maximum": %d, "failures": '
         .. '{"connecting": %d, "reading": %d, "writing": %d, "status": %d, "waiting": %d}}\n',
      summary.requests, summary.duration, summary.bytes,
      latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max,
      errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
