package assay.chronicle;

import assay.bridge.Misconfigured;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import javax.tools.ToolProvider;
import net.openhft.chronicle.hash.ChronicleHashRecoveryFailedException;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ChronicleMapBuilder;
import site.ycsb.DBException;

/** The maps that all instances of a binding share, on disk in one folder or in memory beside Java's heap. */
final class House {
  /** Open houses by their folder; the one in memory has none. */
  private static final Map<String, House> OPEN = new HashMap<>();
  private static final String NOTE = "assay.note";
  private static final String LOCK = "assay.lock";
  private static final double KEY_BYTES = 24;

  private final String name;
  private final Path folder;
  private final Sizes sizes;
  private final Map<String, ChronicleMap<String, byte[]>> maps = new LinkedHashMap<>();
  private FileChannel channel;
  /** Whether another process had the maps open when it ended. */
  private boolean isLeft;
  private String note;
  private int users;

  /** What a map is made for; a map on disk keeps what it was made for. */
  private static final class Sizes {
    final long entries;
    final double entryBytes;
    final double bloat;

    Sizes(Properties properties) throws DBException {
      long records = number(properties, "recordcount", 0);
      // Workloads that insert find room for as many again.
      entries = number(properties, "chronicle.entries", records > 0 ? 2 * records + 1000 : 1_000_000);
      long fields = number(properties, "fieldcount", 10);
      long length = number(properties, "fieldlength", 100);
      // A name such as field0, with the lengths before it.
      entryBytes = number(properties, "chronicle.entrysize", 2 + fields * (length + 12));
      bloat = number(properties, "chronicle.bloat", 10);
      if (entries < 1 || entryBytes < 1 || bloat < 1 || bloat > 1000) {
        throw new Misconfigured(
            "chronicle.entries and chronicle.entrysize are at least 1, chronicle.bloat is from 1 to 1000");
      }
    }
  }

  private House(String name, Properties properties) throws DBException {
    this.name = name;
    this.folder = name.isEmpty() ? null : Path.of(name);
    this.sizes = new Sizes(properties);
  }

  /** The house that these properties name; every instance that has it gives it back by {@link #release}. */
  static House acquire(Properties properties) throws DBException {
    String name = folder(properties);
    synchronized (OPEN) {
      House house = OPEN.get(name);
      if (house == null) {
        house = new House(name, properties);
        house.lock();
        OPEN.put(name, house);
      }
      house.users++;
      return house;
    }
  }

  /** The folder's absolute name; empty for memory. */
  static String folder(Properties properties) {
    String name = properties.getProperty("chronicle.path", "");
    return name.isEmpty() ? "" : new File(name).getAbsoluteFile().getPath();
  }

  /** The last that gives it back closes the maps; what was in memory alone is gone. */
  void release() {
    synchronized (OPEN) {
      users--;
      if (users > 0) {
        return;
      }
      OPEN.remove(name);
      close();
      try {
        if (channel != null) {
          channel.truncate(0);
        }
      } catch (IOException ignored) {
        // Then the maps are recovered when they are opened again, which takes longer.
      }
      unlock();
    }
  }

  /**
   * The map with this name, made or opened if it is not.
   *
   * @param share how many entries it has for each record, and what part of a record's bytes each is
   */
  synchronized ChronicleMap<String, byte[]> map(String map, int share, double bytes) throws DBException {
    ChronicleMap<String, byte[]> open = maps.get(map);
    if (open == null) {
      open = make(map, share, bytes);
      maps.put(map, open);
    }
    return open;
  }

  /** Bytes that an entry for a whole record has on average. */
  double entryBytes() {
    return sizes.entryBytes;
  }

  /** Removes every map, also those that nobody has opened, and the note. */
  synchronized void clear() throws DBException {
    close();
    note = null;
    if (folder == null) {
      return;
    }
    File[] files = folder.toFile().listFiles((parent, file) -> file.endsWith(".cm3") || file.equals(NOTE));
    if (files == null) {
      return;
    }
    for (File file : files) {
      if (!file.delete()) {
        throw new DBException(file + " cannot be removed");
      }
    }
  }

  synchronized String note() throws DBException {
    if (folder == null) {
      return note;
    }
    try {
      Path file = folder.resolve(NOTE);
      return Files.exists(file) ? Files.readString(file) : null;
    } catch (IOException failed) {
      throw new DBException(failed);
    }
  }

  synchronized void keepNote(String text) throws DBException {
    note = text;
    if (folder == null) {
      return;
    }
    try {
      Files.writeString(folder.resolve(NOTE), text);
    } catch (IOException failed) {
      throw new DBException(failed);
    }
  }

  /** Name, value, meaning of what decides the figures. */
  synchronized Map<String, String[]> settings() {
    Map<String, String[]> settings = new LinkedHashMap<>();
    if (folder == null) {
      settings.put("durability", new String[] {"none", "everything is lost when this process ends"});
    } else {
      settings.put("durability", new String[] {"process", "an answered write is in a mapped file: it survives the end "
          + "of this process (kill -9); nothing is ever synced, a loss of power may take any of it"});
      settings.put("path", new String[] {folder.toString(), "the folder of the mapped files"});
    }
    settings.put("entries", new String[] {
        String.valueOf(sizes.entries), "records that a new map is made for; more than that are slower"});
    settings.put("entry size", new String[] {
        Math.round(sizes.entryBytes) + " B", "a record's size on average that a new map is made for"});
    settings.put("bloat", new String[] {
        String.valueOf(sizes.bloat), "how many times larger than it was made for a new map may grow"});
    String version = ChronicleMap.class.getPackage().getImplementationVersion();
    settings.put("server", new String[] {
        "Chronicle Map " + (version == null ? "of an unknown version" : version), "the software that was measured"});
    return settings;
  }

  private void lock() throws DBException {
    if (folder == null) {
      return;
    }
    try {
      Files.createDirectories(folder);
      channel = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock lock = channel.tryLock();
      if (lock != null) {
        // Whoever closes its maps leaves nothing in here.
        isLeft = channel.size() > 0;
        channel.write(ByteBuffer.wrap("open\n".getBytes(StandardCharsets.US_ASCII)), 0);
        return;
      }
    } catch (OverlappingFileLockException taken) {
      // Another class loader of this process has it.
    } catch (IOException failed) {
      throw new DBException(folder + " cannot be used: " + failed, failed);
    }
    unlock();
    throw new DBException(folder + " is open already, in this process or another; end that or choose another path");
  }

  private void unlock() {
    try {
      if (channel != null) {
        channel.close();
      }
    } catch (IOException ignored) {
      // The lock ends with the process at the latest.
    }
    channel = null;
  }

  private void close() {
    maps.values().forEach(ChronicleMap::close);
    maps.clear();
  }

  private ChronicleMap<String, byte[]> make(String map, int share, double bytes) throws DBException {
    if (ToolProvider.getSystemJavaCompiler() == null) {
      throw new DBException("Chronicle Map compiles classes while it runs, and this Java has no compiler: install a JDK "
          + "instead of a JRE (`apt-get install openjdk-17-jdk-headless`)");
    }
    ChronicleMapBuilder<String, byte[]> builder = ChronicleMapBuilder.of(String.class, byte[].class)
        .name(map)
        .averageKeySize(KEY_BYTES)
        .averageValueSize(Math.max(1, bytes))
        .entries(sizes.entries * share)
        .maxBloatFactor(sizes.bloat)
        // The old value would be copied out of the map for nobody.
        .putReturnsNull(true)
        .removeReturnsNull(true);
    if (folder == null) {
      return builder.create();
    }
    File file = folder.resolve(map.replaceAll("[^A-Za-z0-9_.-]", "_") + ".cm3").toFile();
    try {
      // A process that was killed may have left locks within the file, and entries that are half written.
      return isLeft && file.exists() ? builder.recoverPersistedTo(file, false) : builder.createPersistedTo(file);
    } catch (IOException failed) {
      throw new DBException(file + " cannot be opened: " + failed, failed);
    } catch (ChronicleHashRecoveryFailedException damaged) {
      throw new DBException(file + " cannot be recovered, as after the end of a process that made or recovered it; "
          + "remove " + folder + " and load again", damaged);
    }
  }

  private static long number(Properties properties, String name, long usual) throws DBException {
    String text = properties.getProperty(name);
    if (text == null) {
      return usual;
    }
    try {
      return Long.parseLong(text.trim());
    } catch (NumberFormatException wrong) {
      throw new Misconfigured("property " + name + " is " + text + "; it must be a whole number");
    }
  }
}
