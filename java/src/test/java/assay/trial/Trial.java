package assay.trial;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** A binding as somebody else would write it, which does to a record what its key says. */
public class Trial extends DB {
  private static final Map<String, Map<String, byte[]>> RECORDS = new ConcurrentHashMap<>();
  private static final AtomicInteger INSTANCES = new AtomicInteger();

  private int number;
  private Thread home;

  @Override
  public void init() throws DBException {
    if (getProperties().getProperty("trial.fail") != null) {
      throw new DBException(
          "no such server: " + getProperties().getProperty("trial.fail"), new java.io.IOException("refused"));
    }
    number = INSTANCES.incrementAndGet();
    home = Thread.currentThread();
  }

  @Override
  public void cleanup() throws DBException {
    INSTANCES.decrementAndGet();
    if (home != Thread.currentThread()) {
      throw new DBException("cleaned up by another thread");
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    if (key.equals("instances")) {
      result.put("field0", new StringByteIterator(String.valueOf(INSTANCES.get())));
      result.put("field1", new StringByteIterator(String.valueOf(home == Thread.currentThread())));
      return Status.OK;
    }
    if (key.startsWith("property ")) {
      String value = getProperties().getProperty(key.substring(9));
      result.put("field0", new StringByteIterator(String.valueOf(value)));
      return Status.OK;
    }
    if (key.equals("empty")) {
      return Status.OK;
    }
    Map<String, byte[]> record = RECORDS.get(key);
    if (record == null) {
      return outcome(key, Status.NOT_FOUND);
    }
    record.forEach((name, value) -> {
      if (fields == null || fields.contains(name)) {
        result.put(name, new site.ycsb.ByteArrayByteIterator(value));
      }
    });
    return outcome(key, Status.OK);
  }

  @Override
  public Status scan(
      String table,
      String start,
      int count,
      Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    for (int row = 0; row < count; row++) {
      HashMap<String, ByteIterator> record = new HashMap<>();
      record.put("field0", new StringByteIterator(start + row));
      result.add(record);
    }
    return outcome(start, Status.OK);
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return insert(table, key, values);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Map<String, byte[]> record = RECORDS.computeIfAbsent(key, unused -> new ConcurrentHashMap<>());
    values.forEach((name, value) -> record.put(name, value.toArray()));
    return outcome(key, Status.OK);
  }

  @Override
  public Status delete(String table, String key) {
    return outcome(key, RECORDS.remove(key) == null ? Status.NOT_FOUND : Status.OK);
  }

  private static Status outcome(String key, Status usual) {
    return switch (key) {
      case "null" -> null;
      case "throw" -> throw new IllegalStateException("the server has gone");
      case "memory" -> throw new OutOfMemoryError("in play");
      case "ERROR" -> Status.ERROR;
      case "NOT_FOUND" -> Status.NOT_FOUND;
      case "NOT_IMPLEMENTED" -> Status.NOT_IMPLEMENTED;
      case "UNEXPECTED_STATE" -> Status.UNEXPECTED_STATE;
      case "BAD_REQUEST" -> Status.BAD_REQUEST;
      case "FORBIDDEN" -> Status.FORBIDDEN;
      case "SERVICE_UNAVAILABLE" -> Status.SERVICE_UNAVAILABLE;
      case "BATCHED_OK" -> Status.BATCHED_OK;
      case "FULL" -> new Status("FULL", "no room");
      case "ODD" -> new Status("ODD", "something of its own");
      default -> usual;
    };
  }
}
